// All heads of a layer, one canvas each. Hovering is answered here; only a click goes to Python.
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const [header, values] = unframe(data)
  const { size, heads, labels, colour, masked, selected, words, pool } = header
  const [red, green, blue] = colour
  const readout = document.createElement("div")
  readout.className = "readout"
  readout.textContent = words.hint

  const cards = heads.map((head, h) => {
    const card = document.createElement("button")
    card.type = "button"
    card.className = "head"
    card.setAttribute("aria-pressed", String(h === selected))
    card.setAttribute("aria-label", `${words.head} ${h}: ${words.kinds[head]}`)
    const title = document.createElement("div")
    title.className = "title"
    const name = document.createElement("span")
    name.textContent = `${words.head} ${h}`
    const kind = document.createElement("span")
    kind.className = "kind"
    kind.textContent = kind.title = words.kinds[head]
    title.append(name, kind)
    const canvas = document.createElement("canvas")
    canvas.width = canvas.height = size
    const context = canvas.getContext("2d")
    const image = context.createImageData(size, size)
    for (let q = 0; q < size; q++) {
      for (let k = 0; k < size; k++) {
        const p = values[(h * size + q) * size + k], at = 4 * (q * size + k)
        const out = masked && k > q
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
      const value = masked && k > q ? words.masked : (pool > 1 ? "≤ " : "") + p.toFixed(4)
      readout.textContent = `${words.head} ${h} · ${labels[q]} → ${labels[k]} · ${value}`
    }
    canvas.onmouseleave = () => { readout.textContent = words.hint }
    card.append(title, canvas)
    card.onclick = () => setTriggerValue("picked", h)
    return card
  })
  root.replaceChildren(...cards, readout)

  // As many columns as fit, but rather full rows than one card left over.
  const arrange = () => {
    const most = Math.max(1, Math.min(heads.length, Math.floor(root.clientWidth / 150)))
    const rows = Math.ceil(heads.length / most)
    root.style.gridTemplateColumns = `repeat(${Math.ceil(heads.length / rows)}, minmax(0, 1fr))`
  }
  arrange()
  const observer = new ResizeObserver(arrange)
  observer.observe(root)
  return () => observer.disconnect()
}
