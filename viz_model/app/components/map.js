// The machine as one strip: the residual stream is the rail, attention and feed-forward are
// branches off it, and each norm stands where this model has it. The chosen block is drawn open.
const NS = "http://www.w3.org/2000/svg"
const RAIL = 78, BRANCH = 32, HEIGHT = 108, GAP = 9

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
  const width = label => [...label].reduce((sum, c) => sum + (c.charCodeAt(0) > 0x2e80 ? 12.5 : 6.6), 13)

  function box(label, x, y, options) {
    const w = width(label), h = options.height ?? 24
    const group = element("g", { class: "station" + (options.here ? " here" : ""), tabindex: 0, role: "link" }, svg)
    group.style.setProperty("--colour", options.colour)
    element("rect", { x, y: y - h / 2, width: w, height: h, rx: 6 }, group)
    element("text", { x: x + w / 2, y: y + 0.5 }, group).textContent = label
    element("title", {}, group).textContent = options.title
    const go = () => setTriggerValue("picked", options.picked)
    group.onclick = go
    group.onkeydown = event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); go() } }
    return x + w
  }

  const station = (kind, page, x, y) => box(data.labels[kind], x, y, {
    here: data.here === page, colour: data.colours[kind], title: data.titles[page], picked: { page },
  })

  function plus(x) {
    const group = element("g", { class: "plus" }, svg)
    element("circle", { cx: x, cy: RAIL, r: 8 }, group)
    element("text", { x, y: RAIL }, group).textContent = "+"
  }

  // A sub-layer leaves the rail, passes its stations, and is added back at the plus.
  function branch(x, stations) {
    const start = x
    let at = x + 11
    for (const [kind, page] of stations) at = station(kind, page, at, BRANCH) + 7
    const end = at + 5
    element("path", { class: "branch", d: `M${start},${RAIL} V${BRANCH + 10} Q${start},${BRANCH} ${start + 10},${BRANCH} H${end - 10} Q${end},${BRANCH} ${end},${BRANCH + 10} V${RAIL}` }, rails)
    plus(end)
    return end + 13
  }

  let x = 2
  x = station("tokens", "tokens", x, RAIL) + GAP
  x = station("embedding", "embedding", x, RAIL) + GAP
  let clear = 0 // where the position station ends; an open block begins after it
  if (data.position_at === "embedding") {
    const join = x + 9
    const positionX = Math.max(4, join - width(data.labels.position) / 2)
    clear = station("position", "position", positionX, BRANCH) + 6
    element("path", { class: "branch", d: `M${join},${BRANCH} V${RAIL}` }, rails)
    plus(join)
    x = join + 8 + GAP
  }
  if (data.embedding_norm) x = station("norm", "embedding", x, RAIL) + GAP

  const pre = data.norm_at === "pre"
  // The stations of each sub-layer; rotated or biased attention is where such a model meets position.
  const attention = [["attention", "attention"]]
  if (data.position_at === "attention") attention.unshift(["position", "position"])
  const sublayers = [attention, ...(data.cross ? [[["cross_attention", "cross_attention"]]] : []), [["ffn", "block"]]]
  for (const layer of data.layers) {
    if (layer.folded) {
      element("text", { class: "caption", x: x + 9, y: RAIL - 14 }, svg).textContent = "⋯"
      x += 26
      continue
    }
    if (!layer.open) {
      x = box(layer.label, x, RAIL, {
        here: false, colour: "var(--st-border-color)", title: data.select, picked: { layer: layer.index }, height: 34,
      }) + GAP
      continue
    }
    const left = x = Math.max(x, clear)
    x += 10
    for (const stations of sublayers) {
      x = branch(x, pre ? [["norm", "block"], ...stations] : stations)
      if (!pre) x = station("norm", "block", x, RAIL) + 8
    }
    element("rect", { class: "frame", x: left, y: 14, width: x - left, height: 80, rx: 8 }, rails)
    element("text", { class: "caption", x: (left + x) / 2, y: 105 }, svg).textContent = layer.label
    x += GAP
  }
  if (pre) x = station("norm", "block", x, RAIL) + GAP
  for (const end of data.ends) x = station(end, "next_token", x, RAIL) + GAP
  x -= GAP
  rails.prepend(element("path", { class: "rail", d: `M8,${RAIL} H${x - 6}` }, rails))

  // Shrunk a little to fit, but never so far that its 12.5 px letters fall under 11.
  svg.setAttribute("viewBox", `0 0 ${x + 2} ${HEIGHT}`)
  svg.style.width = "100%"
  svg.style.minWidth = `${Math.round(0.9 * (x + 2))}px`
  svg.style.maxWidth = `${x + 2}px`
  svg.setAttribute("role", "navigation")
  svg.setAttribute("aria-label", data.title)
  root.replaceChildren(svg)
  // Where the strip is wider than the screen, begin at the station the visitor is at.
  const here = svg.querySelector(".station.here rect")
  requestAnimationFrame(() => {
    if (!here || root.scrollWidth <= root.clientWidth + 4) return
    const scale = svg.getBoundingClientRect().width / (x + 2)
    root.scrollLeft = Math.max(0, scale * Number(here.getAttribute("x")) - root.clientWidth / 2)
  })
}
