// The machine as one strip: the residual stream is the rail, attention and feed-forward are
// branches off it, and each norm stands where this model has it.
const NS = "http://www.w3.org/2000/svg"
const RAIL = 74, BRANCH = 30, HEIGHT = 104

function element(name, attributes, parent) {
  const node = document.createElementNS(NS, name)
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value)
  parent.append(node)
  return node
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const svg = document.createElementNS(NS, "svg")
  const rails = element("g", {}, svg)
  const width = label => [...label].reduce((sum, c) => sum + (c.charCodeAt(0) > 0x2e80 ? 12.5 : 7), 14)

  function station(kind, page, x, y) {
    const label = data.labels[kind], w = width(label), h = 24
    const here = data.here === page
    const group = element("g", { class: "station" + (here ? " here" : ""), tabindex: 0, role: "link" }, svg)
    group.style.setProperty("--colour", data.colours[kind])
    element("rect", { x, y: y - h / 2, width: w, height: h, rx: 6 }, group)
    element("text", { x: x + w / 2, y: y + 0.5 }, group).textContent = label
    element("title", {}, group).textContent = data.titles[page]
    const go = () => setTriggerValue("picked", page)
    group.onclick = go
    group.onkeydown = event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); go() } }
    return x + w
  }

  function plus(x) {
    const group = element("g", { class: "plus" }, svg)
    element("circle", { cx: x, cy: RAIL, r: 8 }, group)
    element("text", { x, y: RAIL }, group).textContent = "+"
  }

  // A sub-layer leaves the rail, passes its stations, and is added back at the plus.
  function branch(x, stations) {
    const start = x
    let at = x + 14
    for (const [kind, page] of stations) at = station(kind, page, at, BRANCH) + 8
    const end = at + 10
    element("path", { class: "branch", d: `M${start},${RAIL} V${BRANCH + 10} Q${start},${BRANCH} ${start + 10},${BRANCH} H${end - 10} Q${end},${BRANCH} ${end},${BRANCH + 10} V${RAIL}` }, rails)
    plus(end)
    return end + 14
  }

  let x = 4
  x = station("tokens", "tokens", x, RAIL) + 10
  x = station("embedding", "embedding", x, RAIL) + 10
  const join = x + 10
  const positionX = Math.max(4, join - width(data.labels.position) / 2)
  station("position", "position", positionX, BRANCH)
  element("path", { class: "branch", d: `M${join},${BRANCH} V${RAIL}` }, rails)
  plus(join)
  x = Math.max(join + 18, positionX + width(data.labels.position) + 10)

  const pre = data.norm_at === "pre"
  for (const layer of data.layers) {
    const left = x
    if (layer.folded) {
      element("text", { class: "caption", x: x + 14, y: RAIL - 14 }, svg).textContent = "⋯"
      x += 34
      continue
    }
    x += 12
    x = branch(x, pre ? [["norm", "block"], ["attention", "attention"]] : [["attention", "attention"]])
    if (!pre) x = station("norm", "block", x, RAIL) + 8
    x = branch(x, pre ? [["norm", "block"], ["ffn", "block"]] : [["ffn", "block"]])
    if (!pre) x = station("norm", "block", x, RAIL) + 8
    element("rect", { class: "frame" + (layer.here ? " here" : ""), x: left, y: 12, width: x - left, height: 80, rx: 8 }, rails)
    element("text", { class: "caption", x: (left + x) / 2, y: 101 }, svg).textContent = layer.label
    x += 10
  }
  if (pre) x = station("norm", "block", x, RAIL) + 10
  x = station("logits", "next-token", x, RAIL) + 10
  x = station("softmax", "next-token", x, RAIL)
  element("path", { class: "rail", d: `M8,${RAIL} H${x - 6}` }, rails)
  svg.setAttribute("width", x + 4)
  svg.setAttribute("height", HEIGHT)
  svg.setAttribute("viewBox", `0 0 ${x + 4} ${HEIGHT}`)
  svg.setAttribute("role", "navigation")
  svg.setAttribute("aria-label", data.title)

  const scrolled = root.scrollLeft
  root.replaceChildren(svg)
  const lit = svg.querySelector(".frame.here")
  root.scrollLeft = scrolled
  if (lit && !scrolled && root.scrollWidth > root.clientWidth + 4 && data.centre) {
    root.scrollLeft = Math.max(0, Number(lit.getAttribute("x")) - 60)
  }
}
