// The token ribbon. Every run redraws from data alone; text only ever enters as textContent.
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const list = document.createElement("div")
  list.className = "chips"
  list.setAttribute("role", "group")
  list.setAttribute("aria-label", data.label)
  // Before and after a part of a long text, a way on: to the token just beyond.
  const onward = end => {
    const button = document.createElement("button")
    button.type = "button"
    button.className = "end"
    button.textContent = end.position < data.first ? `‹ ${end.position}` : `${end.position} ›`
    button.title = end.label
    button.setAttribute("aria-label", end.label)
    button.onclick = () => setTriggerValue("picked", end.position)
    return button
  }
  list.append(...data.ends.filter(end => end.position < data.first).map(onward))
  data.chips.forEach((chip, n) => {
    const position = data.first + n
    const button = document.createElement("button")
    button.type = "button"
    button.className = "chip"
    button.style.setProperty("--chip", chip.colour)
    button.setAttribute("aria-pressed", String(position === data.selected))
    button.title = `${position}: ${chip.label} · ${chip.under} · ${chip.bytes}`
    const text = document.createElement("span")
    text.className = chip.whole ? "text" : "text bytes"
    text.textContent = chip.label
    const id = document.createElement("span")
    id.className = "id"
    id.textContent = chip.under
    button.append(text, id)
    button.onclick = () => setTriggerValue("picked", position)
    list.append(button)
  })
  list.append(...data.ends.filter(end => end.position >= data.first).map(onward))
  const before = root.querySelector(".chips")
  const scrolled = before ? before.scrollTop : 0
  root.replaceChildren(list)
  const chosen = list.querySelector('[aria-pressed="true"]')
  // With the next picture: places asked for now would have the browser lay out the page once more.
  requestAnimationFrame(() => {
    list.scrollTop = scrolled
    if (!chosen) return
    const above = chosen.offsetTop - list.offsetTop
    if (above < list.scrollTop || above + chosen.offsetHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = above - list.clientHeight / 2
    }
  })
}
