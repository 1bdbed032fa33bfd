// Source and target side by side, joined by lines as thick as the weights. Hovering is answered here.
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const [header, weights] = unframe(data)
  const { source, target, selected, colours, words } = header
  const PITCH = 32, HEAD = 26, LEAST = 0.02
  const weight = (q, s) => weights[q * source.length + s]
  const svg = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name)
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
    return element
  }

  const rows = Math.max(source.length, target.length)
  // The shorter text stands in the middle, spread a little, so that the lines run level.
  const spread = count => {
    const pitch = Math.min(1.5 * PITCH, PITCH * rows / count), first = (PITCH * rows - pitch * count) / 2
    return i => HEAD + first + pitch * (i + 0.5)
  }
  const yOf = { source: spread(source.length), target: spread(target.length) }
  const stage = document.createElement("div")
  stage.className = "stage"
  stage.style.height = `${HEAD + PITCH * rows + 4}px`
  const lines = svg("svg", { "aria-hidden": "true" })
  const readout = document.createElement("div")
  readout.className = "readout"

  const chips = {}
  for (const [side, tokens] of [["source", source], ["target", target]]) {
    const title = document.createElement("div")
    title.className = `title ${side}`
    title.textContent = words[side]
    title.style.top = `${yOf[side](0) - 13 - HEAD}px`
    stage.append(title)
    chips[side] = tokens.map((token, i) => {
      const chip = document.createElement("button")
      chip.type = "button"
      chip.className = `chip ${side}`
      chip.style.setProperty("--mark", token.colour)
      chip.style.top = `${yOf[side](i) - 13}px`
      chip.title = `${token.position}: ${token.label}`
      const text = document.createElement("span")
      text.className = "text"
      text.textContent = token.label
      const share = document.createElement("span")
      share.className = "share"
      chip.append(...(side === "source" ? [share, text] : [text, share]))
      const look = () => show(side, i)
      chip.onmouseenter = chip.onfocus = look
      chip.onmouseleave = chip.onblur = () => show("target", selected)
      if (side === "target") {
        chip.setAttribute("aria-pressed", String(i === selected))
        chip.onclick = () => setTriggerValue("picked", token.position)
      }
      stage.append(chip)
      return chip
    })
  }
  stage.prepend(lines)

  const paths = []
  target.forEach((_, q) => source.forEach((_, s) => {
    if (weight(q, s) < LEAST) return
    const path = svg("path", { fill: "none", "stroke-width": 0.6 + 7 * weight(q, s) })
    lines.append(path)
    paths.push({ q, s, path })
  }))

  function place() {
    const left = chips.source[0].offsetLeft + chips.source[0].offsetWidth + 3
    const right = chips.target[0].offsetLeft - 3, middle = (left + right) / 2
    for (const { q, s, path } of paths) {
      const from = yOf.source(s), to = yOf.target(q)
      path.setAttribute("d", `M${left},${from} C${middle},${from} ${middle},${to} ${right},${to}`)
    }
  }

  function show(side, i) {
    for (const { q, s, path } of paths) {
      const lit = side === "target" ? q === i : s === i
      path.setAttribute("stroke", colours.pattern)
      path.setAttribute("stroke-opacity", lit ? 0.35 + 0.65 * weight(q, s) : 0.1)
    }
    const other = side === "target" ? "source" : "target"
    chips[side].forEach((chip, n) => {
      chip.classList.toggle("lit", n === i)
      chip.querySelector(".share").textContent = ""
      chip.style.setProperty("--share", 0)
    })
    chips[other].forEach((chip, n) => {
      const p = side === "target" ? weight(i, n) : weight(n, i)
      chip.classList.remove("lit")
      chip.querySelector(".share").textContent = p < 0.005 ? "" : `${Math.round(100 * p)}%`
      chip.style.setProperty("--share", p)
    })
    const all = side === "target" ? source.map((_, n) => weight(i, n)) : target.map((_, n) => weight(n, i))
    const best = all.indexOf(Math.max(...all))
    const [from, to] = side === "target" ? [target[i], source[best]] : [target[best], source[i]]
    readout.textContent = `${from.label} → ${to.label}: ${all[best].toFixed(4)} · ${words[side === "target" ? "reads" : "is_read"]}`
  }

  root.replaceChildren(stage, readout)
  place()
  show("target", selected)
  const observer = new ResizeObserver(place)
  observer.observe(stage)
  return () => observer.disconnect()
}
