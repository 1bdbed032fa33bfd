// The numbers of a picture as tables in a window of their own.
import { make, rove } from "./nodes.js"
import { act, asks, told } from "./targets.js"
import { minus } from "./writing.js"

const MOST_ROWS = 1000, MOST_CELLS = 20000

// One table, walked with the arrows. `act` is what Enter does on a cell, or null where it does nothing.
function grid(table, caption, words, act) {
  const top = make("tr", {}, ...table.head.map(name => make("th", { scope: "col", textContent: name || words.item })))
  const body = table.rows.map(row => make("tr", {}, ...row.cells.map((text, c) => {
    const isName = c === 0 && row.cells.length > 1, action = act(row, c), acts = action ? { className: "acts", onclick: action, title: words.ask } : {}
    return make(isName ? "th" : "td", { textContent: text, tabIndex: -1, role: isName ? "rowheader" : "gridcell", ...acts })
  })))
  const whole = make("table", { role: "grid" }, make("caption", { textContent: caption }), make("thead", {}, top), make("tbody", {}, ...body))
  const cells = body.map(line => [...line.children])
  if (cells.length) cells[0][0].tabIndex = 0
  whole.onkeydown = event => {
    if (event.key !== "Enter" && event.key !== " ") return rove(cells, event, event.target)
    event.preventDefault()
    event.target.onclick?.()
  }
  return whole
}

// What the marks of a picture say: of a matrix of numbers itself, of all others a line each.
function tablesOf(made) {
  if (made.tables) return made.tables.map(table => ({ ...table, rows: table.rows.slice(0, MOST_ROWS) }))
  return made.panels.flatMap(panel => [...panel.drawn.values()].filter(hasNumbers).map(now => (now.boxes || now.labels?.length || now.rows * now.columns === 1 ? listOf : matrixOf)(made, panel, now)))
}

const hasNumbers = now => now.boxes ? now.walk && now.labels.length : now.names_of_columns?.length

function matrixOf(made, panel, now) {
  const shown = Math.min(now.rows, Math.max(1, Math.floor(MOST_CELLS / now.columns)))
  const written = value => Number.isFinite(value) ? minus(value.toFixed(now.digits ?? 4)) : "–"
  const rows = Array.from({ length: shown }, (_, r) => ({
    cells: [now.names_of_rows?.[r] ?? String(r), ...Array.from(now.values.slice(r * now.columns, (r + 1) * now.columns), written)],
    act: c => c > 0 ? acting(made, panel, { id: now.id, row: r, column: c - 1 }) : null,
  }))
  return { name: now.name ?? "", head: ["", ...now.names_of_columns], rows, all: now.rows }
}

function listOf(made, panel, now) {
  const count = now.rows * now.columns
  const rows = Array.from({ length: Math.min(count, MOST_ROWS) }, (_, n) => {
    const [row, column] = now.columns === 1 ? [n, 0] : [Math.floor(n / now.columns), n % now.columns]
    return { cells: told(made, now, row, column), act: () => acting(made, panel, { id: now.id, row, column }) }
  }).filter(row => row.cells.length)
  const width = Math.max(1, ...rows.map(row => row.cells.length))
  return { name: now.name ?? "", head: Array(width).fill(""), rows, all: count }
}

const acting = (made, panel, looked) => asks(made, panel, looked)
  ? () => act(made, panel, panel.targets.find(target => target.id === looked.id), looked) : null

// The window with the numbers of a picture. Closed, the keyboard is back where it was.
export function openNumbers(root, made, words) {
  const close = make("button", { textContent: words.close, className: "close", type: "button" })
  const heading = make("h2", { textContent: made.at(made.header.title), id: "numbers-title" }), dialog = make("dialog", { className: "numbers", "aria-labelledby": heading.id })
  const closing = (row, c) => {
    const action = row.act(c)
    return action && (() => { dialog.close(); action() })
  }
  const tables = tablesOf(made).map(table => grid(table, captionOf(table, words), words, closing))
  dialog.append(make("header", {}, heading, close), make("div", { className: "tables" }, ...tables))
  close.onclick = () => dialog.close()
  dialog.onclose = () => dialog.remove()
  root.append(dialog)
  dialog.showModal()
  dialog.querySelector("[tabindex='0']")?.focus()
}

function captionOf(table, words) {
  const part = words.part.replace("{shown}", table.rows.length).replace("{n}", table.all)
  return [table.name, table.rows.length < table.all ? part : ""].filter(Boolean).join(" · ")
}

export const hasTables = made => made.tables?.length > 0 || made.panels.some(panel => [...panel.drawn.values()].some(hasNumbers))
