// All heads of a layer, one canvas each. Hovering is answered here; only a click goes to Python.
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const [header, values] = unframe(data)
  const { selected, ...drawn } = header
  const { size, heads, groups, labels, colour, hidden, words, pool } = drawn
  const [red, green, blue] = colour
  const mark = cards => cards.forEach((card, h) => card.setAttribute("aria-pressed", String(h === selected)))

  // Another head of the same layer: all maps stay as they are.
  const said = JSON.stringify(drawn), known = root.known
  Object.assign(root, { selected, say: setTriggerValue })
  if (known?.said === said && known.values.every((p, i) => p === values[i] || Number.isNaN(p))) {
    mark(known.cards)
    return known.observe()
  }
  const readout = document.createElement("div")
  readout.className = "readout"
  readout.textContent = words.hint

  const cards = heads.map((head, h) => {
    const card = document.createElement("button")
    card.type = "button"
    card.className = "head"
    card.setAttribute("aria-label", `${words.head} ${h}: ${head}`)
    const title = document.createElement("div")
    title.className = "title"
    const name = document.createElement("span")
    name.textContent = `${words.head} ${h}`
    const kind = document.createElement("span")
    kind.className = "kind"
    kind.textContent = kind.title = head
    title.append(name, kind)
    const canvas = document.createElement("canvas")
    canvas.width = canvas.height = size
    const context = canvas.getContext("2d")
    const image = context.createImageData(size, size)
    for (let q = 0; q < size; q++) {
      for (let k = 0; k < size; k++) {
        const p = values[(h * size + q) * size + k], at = 4 * (q * size + k)
        const out = hidden[q][k] === "1"
        image.data[at] = out ? 128 : red
        image.data[at + 1] = out ? 132 : green
        image.data[at + 2] = out ? 145 : blue
        image.data[at + 3] = out ? 46 : Math.round(255 * p)
      }
    }
    context.putImageData(image, 0, 0)
    canvas.onmousemove = event => {
      const box = canvas.getBoundingClientRect()
      const k = Math.min(size - 1, Math.floor((event.clientX - box.left) / box.width * size))
      const q = Math.min(size - 1, Math.floor((event.clientY - box.top) / box.height * size))
      const p = values[(h * size + q) * size + k]
      const value = hidden[q][k] === "1" ? words.masked : (pool > 1 ? "≤ " : "") + p.toFixed(4)
      readout.textContent = `${words.head} ${h} · ${labels[q]} → ${labels[k]} · ${value}`
    }
    canvas.onmouseleave = () => { readout.textContent = words.hint }
    card.append(title, canvas)
    card.onclick = event => {
      // The chosen head's cells ask how they were made; all else, and the keyboard, chooses a head.
      if (h !== root.selected || event.target !== canvas || pool > 1) return root.say("picked", h)
      const box = canvas.getBoundingClientRect()
      const at = (from, span) => Math.max(0, Math.min(size - 1, Math.floor(from / span * size)))
      const q = at(event.clientY - box.top, box.height), k = at(event.clientX - box.left, box.width)
      root.say("asked", { site: header.site, index: [h, q, k] })
    }
    return card
  })
  // Heads that share keys and values stand in one frame, which says so.
  const frames = groups.map((group, g) => {
    const frame = document.createElement("div")
    frame.className = "group"
    frame.style.setProperty("--shared", header.shared)
    frame.setAttribute("role", "group")
    const label = document.createElement("div")
    label.className = "shared"
    label.textContent = words.groups[g]
    frame.setAttribute("aria-label", words.groups[g])
    frame.append(label, ...group.map(h => cards[h]))
    return frame
  })
  const placed = frames.length ? frames : cards
  root.replaceChildren(...placed, readout)

  // As many columns as fit, but rather full rows than one card left over.
  const columns = (count, most) => Math.ceil(count / Math.ceil(count / Math.max(1, Math.min(count, most))))
  const repeat = n => `repeat(${n}, minmax(0, 1fr))`
  const arrange = width => {
    const fit = Math.floor(width / (groups.length ? 130 : 150))
    if (!groups.length) {
      root.style.gridTemplateColumns = repeat(columns(heads.length, fit))
      return
    }
    const inside = columns(groups[0].length, fit)
    root.style.gridTemplateColumns = repeat(columns(groups.length, Math.floor(fit / groups[0].length)))
    for (const frame of frames) frame.style.gridTemplateColumns = repeat(inside)
  }
  arrange(root.wide ?? root.clientWidth)
  mark(cards)
  const observe = () => {
    const observer = new ResizeObserver(() => arrange(root.wide = root.clientWidth))
    observer.observe(root)
    return () => observer.disconnect()
  }
  root.known = { said, values, cards, observe }
  return observe()
}
