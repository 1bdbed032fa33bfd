// Two columns of tokens, those that are read on the left, joined by lines as thick as the weights. Hovering is answered here.
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const [header, weights] = unframe(data)
  const { source, target, selected, colours, words } = header
  const PITCH = header.pitch, TALL = PITCH - 6, HEAD = 26, LEAST = 0.02
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
  stage.style.setProperty("--tall", `${TALL}px`)
  const lines = svg("svg", { "aria-hidden": "true" })
  const told = document.createElement("div")
  told.className = "told"

  const buttons = {}
  for (const [side, tokens] of [["source", source], ["target", target]]) {
    const title = document.createElement("div")
    title.className = `title ${side}`
    title.textContent = words[side]
    title.style.top = `${yOf[side](0) - TALL / 2 - HEAD}px`
    stage.append(title)
    buttons[side] = tokens.map((token, i) => {
      const button = document.createElement("button")
      button.type = "button"
      button.className = `token ${side}`
      button.style.setProperty("--mark", token.colour)
      button.style.top = `${yOf[side](i) - TALL / 2}px`
      button.title = `${token.position}: ${token.label}`
      const text = document.createElement("span")
      text.className = "text"
      text.textContent = token.label
      const share = document.createElement("span")
      share.className = "share"
      button.append(...(side === "source" ? [share, text] : [text, share]))
      const look = () => show(side, i)
      button.onmouseenter = button.onfocus = look
      button.onmouseleave = button.onblur = () => show("target", selected)
      if (side === "target") {
        button.setAttribute("aria-pressed", String(i === selected))
        button.onclick = () => setTriggerValue("picked", token.position)
      }
      stage.append(button)
      return button
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
    const left = buttons.source[0].offsetLeft + buttons.source[0].offsetWidth + 3
    const right = buttons.target[0].offsetLeft - 3, middle = (left + right) / 2
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
    buttons[side].forEach((button, n) => {
      button.classList.toggle("lit", n === i)
      button.querySelector(".share").textContent = ""
      button.style.setProperty("--share", 0)
    })
    buttons[other].forEach((button, n) => {
      const p = side === "target" ? weight(i, n) : weight(n, i)
      button.classList.remove("lit")
      button.querySelector(".share").textContent = p < 0.005 ? "" : `${Math.round(100 * p)}%`
      button.style.setProperty("--share", p)
    })
    const all = side === "target" ? source.map((_, n) => weight(i, n)) : target.map((_, n) => weight(n, i))
    const best = all.indexOf(Math.max(...all))
    const [from, to] = side === "target" ? [target[i], source[best]] : [target[best], source[i]]
    told.textContent = `${from.label} → ${to.label}: ${all[best].toFixed(4)} · ${words[side === "target" ? "reads" : "is_read"]}`
  }

  root.replaceChildren(stage, told)
  show("target", selected)
  const observer = new ResizeObserver(place) // which calls at once, but after the page is laid out
  observer.observe(stage)
  return () => observer.disconnect()
}
