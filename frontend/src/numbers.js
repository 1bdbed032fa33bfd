// What a Plotly figure says of its marks, as tables: read from the figure itself when somebody asks, so that
// nothing is sent for it. A column is a line of the hover text, which is "name <b>number</b>".
const MOST_ROWS = 1000, MOST_CELLS = 20000

const plainly = text => String(text).replace(/<br>/g, " ").replace(/<[^>]*>/g, "").replace(/&lt;/g, "<").replace(/&gt;/g, ">")
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
  const along = trace.orientation === "h" ? ["y", "x"] : ["x", "y"]
  const said = Array.from({ length: Math.min(points, MOST_ROWS) }, (_, n) => {
    const place = isMatrix ? [Math.floor(n / width), n % width] : [n]
    const where = { x: trace.x?.[place.at(-1)] ?? n, y: trace.y?.[place[0]] ?? n }
    const lines = saidOf(plot, trace, place, where.x, where.y)
    const names = along.map(side => [plainly(named(plot._fullLayout[axisName(side, trace)], where[side])), where[side]])
    const name = names.find(([name, value]) => typeof value === "string" || name !== String(value))?.[0]
    const isTold = isMatrix || !name || lines.some(line => line.join(" ").includes(name))
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
export function tablesOf(plot) {
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
