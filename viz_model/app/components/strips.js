// Rows of cells over the same columns: cells on a canvas, all writing as SVG over it, in the page's own colour.
// Hovering is answered here; a click or Enter asks how the number was made.
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const [header, values] = unframe(data)
  const { rows, columns, places, rowPlaces, axes, height, weights, words } = header
  const GAP = header.matrix ? 0 : 6, TOP = 4, MOST_NAMES = 40, LINE = 15
  const value = (r, c) => values[r * columns.length + c]
  const digits = v => v.toFixed(4).replace("-", "−")
  const brief = (v, n) => !Number.isFinite(v) ? header.hidden : v === 0 ? "0" : v.toFixed(n).replace("-", "−")

  const node = (name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name)
    for (const [key, said] of Object.entries(attributes)) made.setAttribute(key, said)
    if (text !== undefined) made.textContent = text
    return made
  }
  const div = name => {
    const made = document.createElement("div")
    made.className = name
    return made
  }
  const plot = div("plot"), canvas = document.createElement("canvas"), tip = div("tip"), cursor = div("cursor")
  const svg = node("svg", { role: "img", "aria-label": words.alt })
  plot.style.height = `${height}px`
  plot.tabIndex = 0
  tip.setAttribute("aria-live", "polite")
  plot.append(canvas, svg, cursor, tip)
  root.replaceChildren(plot)

  // Names are cut in the middle, by whole characters.
  const short = (name, most = 14) => {
    const letters = [...name], half = most / 2
    return letters.length <= most ? name : letters.slice(0, half).join("") + "…" + letters.slice(1 - half).join("")
  }
  const rowNames = rows.map(row => short(row.name, header.matrix ? 14 : 26))
  const ruler = document.createElement("canvas").getContext("2d")
  const width = text => ruler.measureText(text).width
  const widest = texts => Math.max(0, ...texts.map(width))

  let at // where everything stands, for the present width
  function measure() {
    ruler.font = `12px ${getComputedStyle(root).fontFamily}`
    const whole = plot.clientWidth
    const left = Math.min(widest(rowNames), 0.3 * whole) + 10 + (axes[0] ? LINE + 4 : 0)
    const right = header.scale ? 46 : widest(rows.map(row => row.behind ?? "")) + 12
    const across = (whole - left - right) / columns.length
    const names = columns.map(name => short(name)), longest = widest(names)
    let every = Math.ceil(columns.length / MOST_NAMES)
    // Of dimensions a few round numbers say what the others are.
    const counted = !places.length && columns.every(name => /^\d+$/.test(name))
    if (counted) every = [1, 2, 5, 10, 20, 50, 100, 200, 500].find(n => longest + 10 <= across * n) ?? columns.length
    const flat = counted || header.parts.length || longest + 6 <= across * every
    if (!flat) every = Math.max(every, Math.ceil(LINE / across))
    const bottom = (flat ? LINE + 6 : Math.min(84, 0.72 * longest + 16)) + (axes[1] ? LINE + 4 : 0)
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    const unit = (height - TOP - bottom - GAP * (rows.length - 1)) / total
    let y = TOP
    const bands = weights.map(weight => {
      const band = { y, h: unit * weight }
      y += band.h + GAP
      return band
    })
    at = { whole, left, right, across, bottom, bands, names, every, flat, end: y - GAP }
  }

  function paint() {
    const scale = window.devicePixelRatio || 1
    canvas.width = Math.round(at.whole * scale)
    canvas.height = Math.round(height * scale)
    const pen = canvas.getContext("2d"), px = n => Math.round(n * scale)
    const hatch = document.createElement("canvas")
    hatch.width = hatch.height = 6
    const stroke = hatch.getContext("2d")
    stroke.fillStyle = "rgba(128, 132, 145, 0.2)"
    stroke.fillRect(0, 0, 6, 6)
    stroke.strokeStyle = "rgba(128, 132, 145, 0.5)"
    stroke.beginPath()
    stroke.moveTo(-1, 7)
    stroke.lineTo(7, -1)
    stroke.stroke()
    const masked = pen.createPattern(hatch, "repeat")
    const space = header.matrix || at.across < 6 ? 0 : 2
    rows.forEach((row, r) => {
      const { y, h } = at.bands[r]
      columns.forEach((_, c) => {
        const v = value(r, c), x0 = px(at.left + c * at.across), x1 = px(at.left + (c + 1) * at.across - space)
        const share = Math.min(1, Math.abs(v) / row.top)
        pen.globalAlpha = 1
        if (!Number.isFinite(v)) {
          pen.fillStyle = masked
          pen.fillRect(x0, px(y), x1 - x0, px(y + h) - px(y))
        } else if (row.look === "bars") {
          const tall = (h - LINE) * share
          pen.fillStyle = row.colours[1]
          pen.fillRect(x0 + 0.12 * (x1 - x0), px(y + h - tall), 0.76 * (x1 - x0), px(y + h) - px(y + h - tall))
        } else {
          pen.globalAlpha = share
          pen.fillStyle = row.colours[v < 0 ? 0 : 1]
          pen.fillRect(x0, px(y), x1 - x0, px(y + h) - px(y))
        }
      })
    })
    if (header.scale) {
      const x = px(at.whole - at.right + 10), low = rows[0].look === "signed" ? -1 : 0
      for (let y = px(TOP), end = px(at.end); y < end; y++) {
        const v = 1 - (y - px(TOP)) / (end - px(TOP)) * (1 - low)
        pen.globalAlpha = Math.abs(v)
        pen.fillStyle = rows[0].colours[v < 0 ? 0 : 1]
        pen.fillRect(x, y, px(8), 1)
      }
    }
  }

  function write() {
    svg.setAttribute("viewBox", `0 0 ${at.whole} ${height}`)
    svg.replaceChildren()
    const text = (x, y, said, more = {}) => svg.append(node("text", { x, y, ...more }, said))
    const said = (r, n) => columns.map((_, c) => brief(value(r, c), n)), fits = texts => widest(texts) + 4 <= at.across
    // Steps have their own digits each; a matrix has those that fit in all of its cells.
    const most = header.written && header.matrix && !(rows.length * columns.length < 2000 && rows.every((_, r) => fits(said(r, 2)))) ? 1 : 2
    const nameEvery = Math.ceil(LINE * rows.length / at.end)
    rows.forEach((row, r) => {
      const { y, h } = at.bands[r], middle = y + h / 2
      if (r % nameEvery === 0) text(at.left - 8, middle, rowNames[r], { class: "end" })
      if (row.behind) text(at.whole - at.right + 8, middle, row.behind)
      if (!header.written) return
      const numbers = said(r, most)
      if (!fits(numbers) || h < LINE) return
      numbers.forEach((number, c) => {
        const share = Math.abs(value(r, c)) / row.top, bars = row.look === "bars"
        const above = bars ? y + h - (h - LINE) * share - LINE / 2 : middle
        const strong = !bars && share > 0.55 ? " strong" : ""
        text(at.left + (c + 0.5) * at.across - 1, above, number, { class: `middle number${strong}` })
      })
    })
    let first = 0
    for (const [name, count] of header.parts) { // a line where the next part begins, and what each is under its middle
      const x = at.left + first * at.across
      if (first) svg.append(node("line", { x1: x, x2: x, y1: TOP, y2: at.end + 4, class: "cut" }))
      text(x + count * at.across / 2, at.end + LINE / 2 + 4, name, { class: "middle" })
      first += count
    }
    at.names.forEach((name, c) => {
      if (header.parts.length || c % at.every) return
      const x = at.left + (c + 0.5) * at.across, y = at.end + LINE / 2 + 4
      if (at.flat) text(x, y, name, { class: "middle" })
      else text(x + 4, y - 2, name, { class: "end", transform: `rotate(-45 ${x + 4} ${y - 2})` })
    })
    if (axes[0]) text(LINE / 2, (TOP + at.end) / 2, axes[0], { class: "middle axis", transform: `rotate(-90 ${LINE / 2} ${(TOP + at.end) / 2})` })
    if (axes[1]) text(at.left + at.across * columns.length / 2, height - LINE / 2, axes[1], { class: "middle axis" })
    if (header.scale) {
      const { top, look } = rows[0], x = at.whole - at.right + 22
      const ticks = look === "signed" ? [[top, TOP + 6], [0, (TOP + at.end) / 2], [-top, at.end - 6]] : [[top, TOP + 6], [top / 2, (TOP + at.end) / 2], [0, at.end - 6]]
      for (const [v, y] of ticks) text(x, y, String(Number(v.toPrecision(2))).replace("-", "−"), { class: "small" })
    }
    if (header.selected !== null) {
      const { y, h } = at.bands[header.selected]
      svg.append(node("rect", { x: at.left, y, width: at.across * columns.length, height: h, class: "selected", stroke: header.highlight }))
    }
  }

  // The cell that is looked at: by pointer, or moved by the arrow keys.
  let looked = null
  const cellsOf = r => header.cells ?? rows[r].cells
  const asked = ([r, c]) => cellsOf(r) ? whereIs(cellsOf(r), r, c) : null
  const placed = (known, n, name) => known.length ? `${known[n]}: ${name}` : name
  function look(cell) {
    looked = cell
    cursor.style.display = tip.style.display = cell ? "block" : "none"
    if (!cell) return
    const [r, c] = cell, v = value(r, c), { y, h } = at.bands[r], x = at.left + c * at.across
    Object.assign(cursor.style, { left: `${x}px`, top: `${y}px`, width: `${at.across}px`, height: `${h}px` })
    plot.style.cursor = asked(cell) ? "pointer" : "default"
    const line = (name, said) => {
      const made = div(name)
      made.textContent = said
      return made
    }
    const shown = Number.isFinite(v) ? digits(v) : header.written ? header.hidden : words.masked
    const row = header.matrix ? `${axes[0]} ${placed(rowPlaces, r, rows[r].name)}` : rows[r].name
    tip.replaceChildren(line("value", shown), line("", row), line("", `${axes[1]} ${placed(places, c, columns[c])}`.trim()))
    if (header.site) tip.append(line("site", header.site))
    const right = x + at.across + 10
    tip.style.left = right + tip.offsetWidth < at.whole ? `${right}px` : `${Math.max(0, x - 10 - tip.offsetWidth)}px`
    tip.style.top = `${Math.max(0, Math.min(height - tip.offsetHeight, y + h / 2 - tip.offsetHeight / 2))}px`
  }
  const under = event => {
    const box = plot.getBoundingClientRect(), y = event.clientY - box.top
    const c = Math.floor((event.clientX - box.left - at.left) / at.across)
    const r = at.bands.findIndex(band => y >= band.y && y < band.y + band.h + GAP)
    return r >= 0 && c >= 0 && c < columns.length ? [r, c] : null
  }
  const ask = () => {
    const found = looked && asked(looked)
    if (found) setTriggerValue("asked", found)
  }
  plot.onpointermove = event => look(under(event))
  plot.onpointerleave = () => look(null)
  plot.onblur = () => look(null)
  plot.onclick = event => {
    look(under(event))
    ask()
  }
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }
  plot.onkeydown = event => {
    if (event.key === "Enter") return ask()
    if (event.key === "Escape") return look(null)
    if (!steps[event.key]) return
    event.preventDefault()
    const [r, c] = looked ?? [header.selected ?? 0, 0], [down, right] = looked ? steps[event.key] : [0, 0]
    look([Math.max(0, Math.min(rows.length - 1, r + down)), Math.max(0, Math.min(columns.length - 1, c + right))])
  }

  const arrange = () => {
    if (!plot.clientWidth || at?.whole === plot.clientWidth) return
    measure()
    paint()
    write()
    look(null)
  }
  // Not before the page is laid out anyway: asked for its width earlier, the browser would lay it all out for it.
  const observer = new ResizeObserver(arrange)
  observer.observe(plot)
  return () => observer.disconnect()
}
