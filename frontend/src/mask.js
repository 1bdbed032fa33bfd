// A mask drawn by hand: one cell for each query and key. Click or drag, or arrow keys and space.
// A whole stroke goes to Python at once, as the cells that it turned over. It is saved like any picture.
import { corner } from "./corner.js"
import { make, rove } from "./nodes.js"

export function mask(root, data, arrays, tell) {
  const { labels, seen, blind, first, words } = data
  const active = root.getRootNode().activeElement
  const focused = active && active.dataset.q ? [Number(active.dataset.q), Number(active.dataset.k)] : null

  const board = make("div", { className: "board", role: "group", "aria-label": words.label })
  for (const [name, color] of Object.entries(data.colors)) board.style.setProperty(`--${name}`, color)
  board.style.gridTemplateColumns = `minmax(48px, auto) repeat(${labels.length}, minmax(17px, 30px))`
  const text = (className, title) => make("span", { className, title }, title)
  const hint = make("div", { className: "hint" }, words.hint)

  board.append(text("origin", words.corner), ...labels.map(label => text("column", label)))
  const cells = labels.map((query, q) => {
    board.append(text(blind.includes(q) ? "row blind" : "row", query))
    return labels.map((key, k) => {
      const said = { role: "checkbox", "aria-checked": String(seen[q][k] === "1"), "aria-label": `${query} → ${key}` }
      const cell = make("button", { type: "button", className: "cell", tabIndex: -1, "data-q": q, "data-k": k, ...said })
      cell.onmouseenter = cell.onfocus = () => {
        const sees = cell.getAttribute("aria-checked") === "true"
        hint.textContent = `${first + q} ${query} → ${first + k} ${key} · ${sees ? words.sees : words.hidden}`
      }
      cell.onmouseleave = () => { hint.textContent = words.hint }
      board.append(cell)
      return cell
    })
  })
  const reach = focused && cells[focused[0]]?.[focused[1]] || cells[0][0]
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
  board.onkeydown = event => {
    const cell = event.target.closest(".cell")
    if (event.key !== " " && event.key !== "Enter") return rove(cells, event, cell)
    event.preventDefault()
    if (cell) tell("picked", [turn(cell)])
  }
  const made = root.saved ??= {} // keeps its button, which has the focus when its menu is closed
  Object.assign(made, { header: { words, title: words.label }, at: value => value, tell })
  root.replaceChildren(make("div", { className: "sheet" }, board), hint, ...made.corner ? [made.corner] : [])
  corner(root, made)
  if (focused) reach.focus({ preventScroll: true })
}
