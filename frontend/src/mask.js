// A mask drawn by hand: one cell for each query and key. Click or drag, or arrow keys and space.
// A whole stroke goes to Python at once, as the cells that it turned over. It is saved like any picture.
import { corner } from "./corner.js"

export function mask(root, data, arrays, tell) {
  const { labels, seen, blind, first, words } = data
  const active = root.getRootNode().activeElement
  const focused = active && active.dataset.q ? [Number(active.dataset.q), Number(active.dataset.k)] : null

  const board = document.createElement("div")
  board.className = "board"
  for (const [name, colour] of Object.entries(data.colours)) board.style.setProperty(`--${name}`, colour)
  board.setAttribute("role", "group")
  board.setAttribute("aria-label", words.label)
  board.style.gridTemplateColumns = `minmax(48px, auto) repeat(${labels.length}, minmax(17px, 30px))`
  const text = (className, words) => {
    const element = document.createElement("span")
    element.className = className
    element.textContent = element.title = words
    return element
  }
  const hint = document.createElement("div")
  hint.className = "hint"
  hint.textContent = words.hint

  board.append(text("origin", words.corner), ...labels.map(label => text("column", label)))
  const cells = labels.map((query, q) => {
    board.append(text(blind.includes(q) ? "row blind" : "row", query))
    return labels.map((key, k) => {
      const cell = document.createElement("button")
      cell.type = "button"
      cell.className = "cell"
      cell.dataset.q = q
      cell.dataset.k = k
      cell.tabIndex = -1
      cell.setAttribute("role", "checkbox")
      cell.setAttribute("aria-checked", String(seen[q][k] === "1"))
      cell.setAttribute("aria-label", `${query} → ${key}`)
      cell.onmouseenter = cell.onfocus = () => {
        const sees = cell.getAttribute("aria-checked") === "true"
        hint.textContent = `${first + q} ${query} → ${first + k} ${key} · ${sees ? words.sees : words.hidden}`
      }
      cell.onmouseleave = () => { hint.textContent = words.hint }
      board.append(cell)
      return cell
    })
  })
  let reach = focused && cells[focused[0]] && cells[focused[0]][focused[1]] || cells[0][0]
  reach.tabIndex = 0

  const turn = cell => {
    cell.setAttribute("aria-checked", String(cell.getAttribute("aria-checked") !== "true"))
    return [first + Number(cell.dataset.q), first + Number(cell.dataset.k)]
  }
  let stroke = null
  const paint = cell => {
    if (cell.getAttribute("aria-checked") === stroke.from) stroke.cells.push(turn(cell))
  }
  board.onpointerdown = event => {
    const cell = event.target.closest(".cell")
    if (!cell || event.button) return
    event.preventDefault()
    stroke = { from: cell.getAttribute("aria-checked"), cells: [] }
    board.setPointerCapture(event.pointerId)
    paint(cell)
  }
  board.onpointermove = event => {
    if (!stroke) return
    const under = root.getRootNode().elementFromPoint(event.clientX, event.clientY)
    const cell = under && under.closest(".cell")
    if (cell && board.contains(cell)) paint(cell)
  }
  board.onpointerup = board.onpointercancel = () => {
    if (!stroke) return
    const turned = stroke.cells
    stroke = null
    if (turned.length) tell("picked", turned)
  }
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }
  board.onkeydown = event => {
    const cell = event.target.closest(".cell")
    if (!cell) return
    const q = Number(cell.dataset.q), k = Number(cell.dataset.k)
    if (event.key === " " || event.key === "Enter") {
      event.preventDefault()
      tell("picked", [turn(cell)])
    } else if (moves[event.key]) {
      event.preventDefault()
      const [down, right] = moves[event.key]
      const next = cells[q + down] && cells[q + down][k + right]
      if (!next) return
      reach.tabIndex = -1
      reach = next
      reach.tabIndex = 0
      reach.focus()
    }
  }
  const sheet = document.createElement("div")
  sheet.className = "sheet"
  sheet.append(board)
  const made = root.saved ??= {} // keeps its button, which has the focus when its menu is closed
  Object.assign(made, { header: { words, title: words.label }, at: value => value, tell })
  root.replaceChildren(sheet, hint, ...made.corner ? [made.corner] : [])
  corner(root, made)
  if (focused) reach.focus({ preventScroll: true })
}
