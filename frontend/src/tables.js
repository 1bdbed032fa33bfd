// The tables of a figure in a window of their own, opened by a button that stands on the figure.
import { tablesOf } from "./numbers.js"

const made = (tag, properties = {}, ...inside) => {
  const element = Object.assign(document.createElement(tag), properties)
  element.append(...inside)
  return element
}

// One table, walked with the arrows. `act` is what Enter does on a cell, or null where it does nothing.
function grid(table, caption, words, act) {
  const top = made("tr", {}, ...table.head.map(name => made("th", { scope: "col", textContent: name || words.item })))
  const body = table.rows.map(row => made("tr", {}, ...row.cells.map((text, c) => {
    const cell = made(c === 0 && row.cells.length > 1 ? "th" : "td", { textContent: text, tabIndex: -1 })
    cell.setAttribute("role", cell.tagName === "TH" ? "rowheader" : "gridcell")
    const action = act(row, c)
    if (action) {
      cell.classList.add("acts")
      cell.onclick = action
      cell.title = words.ask
    }
    return cell
  })))
  const element = made("table", {}, made("caption", { textContent: caption }), made("thead", {}, top), made("tbody", {}, ...body))
  element.setAttribute("role", "grid")
  const cells = body.map(line => [...line.children])
  if (cells.length) cells[0][0].tabIndex = 0
  element.onkeydown = event => {
    const row = cells.findIndex(line => line.includes(event.target)), column = cells[row]?.indexOf(event.target)
    if (row < 0) return
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault()
      event.target.onclick?.()
      return
    }
    const last = { row: cells.length - 1, column: cells[row].length - 1 }
    const to = { ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1], Home: [row, 0], End: [row, last.column] }[event.key]
    if (!to) return
    event.preventDefault()
    const next = cells[Math.min(last.row, Math.max(0, to[0]))][Math.min(last.column, Math.max(0, to[1]))]
    event.target.tabIndex = -1
    next.tabIndex = 0
    next.focus()
  }
  return element
}

// The window with the numbers of a figure. Closed, the keyboard is back where it was.
export function openNumbers(root, plot, words, act) {
  const chart = plot.closest("[data-testid=stPlotlyChart]"), title = chart?.getAttribute("aria-label") ?? words.open
  const close = made("button", { textContent: words.close, className: "close", type: "button" })
  const heading = made("h2", { textContent: title, id: "numbers-title" }), dialog = made("dialog", { className: "numbers" })
  const closing = (row, c) => {
    const action = act(row, c)
    return action && (() => { dialog.close(); action() })
  }
  const tables = tablesOf(plot).map(table => grid(table, captionOf(table, words), words, closing))
  dialog.append(made("header", {}, heading, close), made("div", { className: "tables" }, ...tables))
  dialog.setAttribute("aria-labelledby", heading.id)
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

// A button on every figure that has none.
export function offerNumbers(words, open) {
  for (const plot of document.querySelectorAll(".js-plotly-plot")) {
    const chart = plot.closest("[data-testid=stPlotlyChart]")
    if (!chart || chart.querySelector(".figure-numbers")) continue
    const button = made("button", { className: "figure-numbers", type: "button", textContent: words.open })
    button.setAttribute("aria-label", `${words.open}: ${chart.getAttribute("aria-label")}`)
    button.setAttribute("aria-haspopup", "dialog")
    button.onclick = () => open(chart.querySelector(".js-plotly-plot"))
    chart.append(button)
  }
}

export const takeNumbersBack = () => document.querySelectorAll(".figure-numbers").forEach(button => button.remove())
