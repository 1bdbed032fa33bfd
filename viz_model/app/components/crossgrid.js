// All heads of a cross-attention layer, one canvas each: a row a target token, a column a source token.
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const [header, values] = unframe(data)
  const { heads, target, source, pooled, selected, colour, words } = header
  const height = target.length, width = source.length
  const readout = document.createElement("div")
  readout.className = "readout"
  readout.textContent = words.hint

  const cards = Array.from({ length: heads }, (_, h) => {
    const card = document.createElement("button")
    card.type = "button"
    card.className = "head"
    card.setAttribute("aria-pressed", String(h === selected))
    const title = document.createElement("div")
    title.className = "title"
    title.textContent = `${words.head} ${h}`
    const canvas = document.createElement("canvas")
    canvas.width = width
    canvas.height = height
    // Two lengths of text may differ a lot; the card keeps a shape that can be read.
    canvas.style.aspectRatio = String(Math.max(0.75, Math.min(2.5, width / height)))
    const context = canvas.getContext("2d"), image = context.createImageData(width, height)
    for (let cell = 0; cell < width * height; cell++) {
      image.data.set([...colour, Math.round(255 * values[h * width * height + cell])], 4 * cell)
    }
    context.putImageData(image, 0, 0)
    canvas.onmousemove = event => {
      const box = canvas.getBoundingClientRect()
      const s = Math.max(0, Math.min(width - 1, Math.floor((event.clientX - box.left) / box.width * width)))
      const q = Math.max(0, Math.min(height - 1, Math.floor((event.clientY - box.top) / box.height * height)))
      const p = values[(h * height + q) * width + s]
      readout.textContent = `${words.head} ${h} · ${target[q]} → ${source[s]} · ${pooled ? "≤ " : ""}${p.toFixed(4)}`
    }
    canvas.onmouseleave = () => { readout.textContent = words.hint }
    card.append(title, canvas)
    card.onclick = event => {
      // The chosen head's cells ask how they were made; all else, and the keyboard, chooses a head.
      if (h !== selected || event.target !== canvas || pooled) return setTriggerValue("picked", h)
      const box = canvas.getBoundingClientRect()
      const at = (from, span, count) => Math.max(0, Math.min(count - 1, Math.floor(from / span * count)))
      const q = at(event.clientY - box.top, box.height, height), s = at(event.clientX - box.left, box.width, width)
      setTriggerValue("asked", { site: header.site, index: [h, q, s] })
    }
    return card
  })
  root.replaceChildren(...cards, readout)

  // As many columns as fit, but rather full rows than one card left over.
  const arrange = () => {
    const most = Math.max(1, Math.min(heads, Math.floor(root.clientWidth / 96)))
    const rows = Math.ceil(heads / most)
    root.style.gridTemplateColumns = `repeat(${Math.ceil(heads / rows)}, minmax(0, 170px))`
  }
  arrange()
  const observer = new ResizeObserver(arrange)
  observer.observe(root)
  return () => observer.disconnect()
}
