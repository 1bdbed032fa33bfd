// What a Plotly figure says of its marks, as tables: read from the figure itself when somebody asks, so that
// nothing is sent for it. A column is a line of the hover text, which is "name <b>number</b>".
const MOST_ROWS = 1000, MOST_CELLS = 20000

const plainly = text => String(text).replace(/<[^>]*>/g, "").replace(/&lt;/g, "<").replace(/&gt;/g, ">")
  .replace(/&amp;/g, "&").replace(/\u2007/g, " ").trim()

// An axis names numbers by its ticks.
function named(axis, value) {
  const at = axis?.tickvals ? Array.from(axis.tickvals).indexOf(value) : -1
  return at >= 0 && axis.ticktext?.[at] ? plainly(axis.ticktext[at]) : value
}

const at = (list, place) => Array.isArray(list) || ArrayBuffer.isView(list)
  ? place.reduce((found, n) => found?.[n], list) : list

// The lines that a mark says, each a name and what stands beside it.
function saidOf(plot, trace, place, x, y) {
  const layout = plot._fullLayout, axes = { x: layout[axisName("x", trace)], y: layout[axisName("y", trace)] }
  const values = { x, y, z: at(trace.z, place), text: at(trace.text, place), hovertext: at(trace.hovertext, place) }
  const filled = segment => segment.replace(/%\{(\w+)(?:\[(\d+)\])?(?::([^}]*))?\}/g, (_, key, n, format) => {
    let value = key === "customdata" ? at(trace.customdata, place) : values[key]
    if (n !== undefined) value = value?.[n]
    if (Number.isNaN(value)) return "–"
    if (format && typeof value === "number") return layout._d3locale.numberFormat(format)(value)
    const number = typeof value === "number" ? Number(value.toPrecision(6)) : value
    return (axes[key] ? named(axes[key], value) ?? number : number) ?? ""
  })
  const template = (at(trace.hovertemplate, place) || "%{x}<br><b>%{y}</b>").replace(/<extra>.*<\/extra>/s, "")
  return template.split("<br>").flatMap(segment => {
    const places = segment.match(/%\{[^}]*\}/g) ?? []
    if (places.length === 1 && !/^%\{(hover)?text\}/.test(places[0])) {
      const own = plainly(segment.replace(places[0], "")), axis = plot.layout[axisName(places[0][2], trace)]
      return [[own || plainly(axis?.title?.text ?? ""), plainly(filled(places[0]))]]
    }
    return filled(segment).split("<br>").map(line => {
      const [, before, bold, after] = line.match(/^(.*?)<b>(.*?)<\/b>(.*)$/s) ?? [null, "", line, ""]
      return bold ? [plainly(before + after), plainly(bold)] : ["", plainly(line)]
    })
  }).filter(([name, value]) => name || value)
}

const axisName = (letter, trace) => `${letter}axis${(trace[`${letter}axis`] ?? letter).slice(1)}`

// A matrix stays one: the names of its rows and columns, and in each cell the number of its hover text.
function matrixOf(plot, trace) {
  const [height, width] = [trace.z.length, trace.z[0].length]
  const short = value => typeof value === "number" ? Number(value.toPrecision(6)) : value
  const name = (list, axis, n) => plainly(short(named(plot._fullLayout[axis], list?.[n] ?? n)))
  const template = String(trace.hovertemplate ?? ""), isOwn = /%\{z|%\{customdata[:}]/.test(template)
  const [, key, format] = template.match(/%\{(z|customdata)(?::([^}]*))?\}/) ?? [null, "z", ".4g"]
  const write = plot._fullLayout._d3locale.numberFormat(format ?? ".4g")
  const values = isOwn && key === "customdata" ? trace.customdata : trace.z
  const written = value => Number.isFinite(value) ? write(value) : "–"
  const own = template.replace(/<extra>(.*)<\/extra>/s, "<br>$1").split("<br>").map(part => plainly(part.replace(/%\{[^}]*\}/g, "")))
  return {
    of: own.filter(Boolean).join(", "),
    head: ["", ...Array.from({ length: width }, (_, c) => name(trace.x, axisName("x", trace), c))],
    rows: Array.from({ length: Math.min(height, Math.max(1, Math.floor(MOST_CELLS / width))) }, (_, r) => ({
      cells: [name(trace.y, axisName("y", trace), r), ...Array.from(values[r], written)],
      place: c => [r, c - 1],
    })),
    all: height,
  }
}

// Marks one below the other. Where not all say the same things, a column has no name and its cells say all.
function listOf(plot, trace) {
  const isMatrix = Boolean(trace.z), width = isMatrix ? trace.z[0].length : 1
  const points = isMatrix ? trace.z.length * width : Math.max(trace.x?.length ?? 0, trace.y?.length ?? 0)
  const along = trace.orientation === "h" ? "y" : "x"
  const said = Array.from({ length: Math.min(points, MOST_ROWS) }, (_, n) => {
    const place = isMatrix ? [Math.floor(n / width), n % width] : [n]
    const x = trace.x?.[place.at(-1)] ?? n, y = trace.y?.[place[0]] ?? n
    const lines = saidOf(plot, trace, place, x, y)
    const mark = along === "y" ? y : x, name = plainly(named(plot._fullLayout[axisName(along, trace)], mark))
    const isTold = isMatrix || name === String(mark) || lines.some(line => line.join(" ").includes(name))
    return isTold ? lines : [["", name], ...lines]
  })
  const columns = Math.max(0, ...said.map(lines => lines.length))
  const head = Array.from({ length: columns }, (_, c) => {
    const names = new Set(said.map(lines => lines[c]?.[0] ?? ""))
    return names.size === 1 ? [...names][0] : ""
  })
  const cell = ([name, value] = ["", ""], c) => head[c] || !name ? value : `${name} ${value}`
  return {
    head,
    rows: said.map((lines, n) => ({
      cells: head.map((_, c) => cell(lines[c], c)),
      place: () => isMatrix ? [Math.floor(n / width), n % width] : [n, n],
    })),
    all: points,
  }
}

// All tables of a figure: of traces that say nothing none, of such that say the same things one.
function tablesOf(plot) {
  const tables = []
  for (const trace of plot._fullData) {
    if (trace.visible !== true || trace.hoverinfo === "skip" || trace.hoverinfo === "none") continue
    const isWritten = /%\{hovertext/.test(String(trace.hovertemplate))
    const table = trace.z && !isWritten ? matrixOf(plot, trace) : listOf(plot, trace)
    if (!table.rows.length || !table.head.length) continue
    table.name = plainly(plot.data[trace.index]?.name ?? "") || (table.of ?? "")
    for (const row of table.rows) row.curve = trace.index
    const key = JSON.stringify(table.rows.map(row => row.cells)), last = tables.at(-1)
    const same = tables.find(known => known.key === key)
    if (same) {
      same.name = ""  // what both say is no more the one's than the other's
      continue
    }
    if (last && !trace.z && last.name === table.name && `${last.head}` === `${table.head}`) {
      last.rows.push(...table.rows)
      last.all += table.all
    } else tables.push({ ...table, key })
  }
  return tables.length ? tables : [wordsIn(plot)]
}

// A diagram without marks that say anything has its words.
function wordsIn(plot) {
  const texts = (plot._fullLayout.annotations ?? []).map(note => note.text)
  for (const trace of plot._fullData) if (/text/.test(trace.mode ?? "")) texts.push(...Array.from(trace.text ?? []))
  const rows = texts.map(plainly).filter(Boolean).map(text => ({ cells: [text], place: () => [-1, -1], curve: -1 }))
  return { head: [""], rows, all: rows.length, name: "" }
}

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
function openNumbers(root, plot, words, act) {
  const chart = plot.closest("[data-testid=stPlotlyChart]"), title = chart?.getAttribute("aria-label") ?? words.open
  const close = made("button", { textContent: words.close, className: "close", type: "button" })
  const heading = made("h2", { textContent: title, id: "numbers-title" }), dialog = made("dialog")
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
function offerNumbers(words, open) {
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

const takeNumbersBack = () => document.querySelectorAll(".figure-numbers").forEach(button => button.remove())
