// Lines by step that grow in place: a chart of Streamlit's is built anew for every change, and blinks.
export default function (component) {
  const { data, parentElement } = component
  const root = parentElement.querySelector(".root")
  const [chart, values] = unframe(data)
  const { height, x, y, lines, levels, area } = chart
  const edge = { left: 52, right: 10, top: 8, bottom: 40 }

  let start = 0
  for (const line of lines) {
    line.xs = values.subarray(start, start + line.n)
    line.ys = values.subarray(start + line.n, start + 2 * line.n)
    start += 2 * line.n
  }

  const svgNode = (name, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name)
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value)
    if (text !== undefined) node.textContent = text
    return node
  }
  const div = (name, text) => {
    const node = document.createElement("div")
    node.className = name
    if (text !== undefined) node.textContent = text
    return node
  }

  const legend = div("legend")
  for (const line of lines.filter(line => line.legend)) {
    const item = div("item")
    const sample = svgNode("svg", { width: 26, height: 10, "aria-hidden": "true" })
    sample.append(svgNode("line", stroke(line, { x1: 1, x2: 25, y1: 5, y2: 5 })))
    item.append(sample, div("", line.name))
    legend.append(item)
  }
  const title = div("title", y.title)
  const readout = div("readout")
  const plot = div("plot")
  root.replaceChildren(legend, title, plot, readout)

  function stroke(line, more) {
    return { stroke: line.colour, "stroke-width": line.width, "stroke-dasharray": line.dash, fill: "none", ...more }
  }

  const scaled = value => y.log ? Math.log10(value) : value
  let width = 0
  const px = step => edge.left + (step - x.range[0]) / (x.range[1] - x.range[0]) * (width - edge.left - edge.right)
  const py = value => {
    const share = (scaled(value) - y.range[0]) / (y.range[1] - y.range[0])
    // A value beyond the axis ends at its edge, not in what stands above it.
    return edge.top + (1 - Math.min(1.02, Math.max(-0.02, share))) * (height - edge.top - edge.bottom)
  }

  const cursor = svgNode("line", { class: "cursor", y1: edge.top, y2: height - edge.bottom })
  function draw() {
    width = Math.max(220, plot.clientWidth)
    const svg = svgNode("svg", { width, height, role: "img", "aria-label": chart.alt })
    const right = width - edge.right, bottom = height - edge.bottom
    if (area) {
      svg.append(svgNode("rect", { class: "area", x: px(0), y: edge.top, width: px(area.until) - px(0), height: bottom - edge.top }))
      svg.append(svgNode("text", { class: "note", x: px(area.until) + 6, y: bottom - 8 }, `← ${area.label}`))
    }
    for (const tick of y.ticks) {
      svg.append(svgNode("line", { class: "grid", x1: edge.left, x2: right, y1: py(tick.at), y2: py(tick.at) }))
      svg.append(svgNode("text", { class: "tick y", x: edge.left - 7, y: py(tick.at) }, tick.label))
    }
    for (const tick of x.ticks) {
      svg.append(svgNode("text", { class: "tick x", x: px(tick.at), y: bottom + 15 }, tick.label))
    }
    svg.append(svgNode("text", { class: "tick x", x: (edge.left + right) / 2, y: height - 6 }, x.title))
    for (const level of levels) {
      svg.append(svgNode("line", { class: "level", x1: edge.left, x2: right, y1: py(level.y), y2: py(level.y) }))
      svg.append(svgNode("text", { class: "note end", x: right, y: py(level.y) - 5 }, level.label))
    }
    for (const line of lines) {
      let path = "", pen = "M"
      for (let i = 0; i < line.n; i++) {
        if (!Number.isFinite(line.ys[i])) { pen = "M"; continue }
        path += `${pen}${px(line.xs[i]).toFixed(1)} ${py(line.ys[i]).toFixed(1)}`
        pen = "L"
        if (line.marker) svg.append(svgNode("rect", { x: px(line.xs[i]) - 3, y: py(line.ys[i]) - 3, width: 6, height: 6, fill: line.colour }))
      }
      svg.append(svgNode("path", stroke(line, { d: path, "stroke-linejoin": "round" })))
    }
    svg.append(cursor)
    svg.onpointermove = event => { root.lookedAt = event.clientX - svg.getBoundingClientRect().left; read() }
    svg.onpointerleave = () => { root.lookedAt = null; read() }
    plot.replaceChildren(svg)
    read()
  }

  // Where the pointer rests the values are told, also while the lines go on growing.
  function read() {
    const at = root.lookedAt, known = lines.filter(line => line.n)
    cursor.style.visibility = "hidden"
    readout.replaceChildren()
    if (at == null || !known.length) return
    const step = x.range[0] + (at - edge.left) / (width - edge.left - edge.right) * (x.range[1] - x.range[0])
    const nearest = line => line.xs.reduce((best, found, i) => Math.abs(found - step) < Math.abs(line.xs[best] - step) ? i : best, 0)
    const first = known[0], shown = first.xs[nearest(first)]
    cursor.setAttribute("x1", px(shown))
    cursor.setAttribute("x2", px(shown))
    cursor.style.visibility = "visible"
    readout.append(div("", `${x.title} ${Math.round(shown)}`))
    for (const line of known.filter(line => line.legend)) {
      const value = line.ys[nearest(line)]
      const item = div("", `${line.name} ${Number.isFinite(value) ? value.toPrecision(3) : "NaN"}`)
      item.style.setProperty("--mark", line.colour)
      item.className = "value"
      readout.append(item)
    }
  }

  draw()
  const resized = new ResizeObserver(() => { if (plot.clientWidth !== width) draw() })
  resized.observe(plot)
  return () => resized.disconnect()
}
