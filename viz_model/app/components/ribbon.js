// The token ribbon. Every run redraws from data alone; text only ever enters as textContent.
// It is one stop on the way of the Tab key: arrows, Home and End walk it, Enter selects.
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const list = document.createElement("div")
  list.className = data.line ? "chips line" : "chips"
  list.setAttribute("role", "group")
  list.setAttribute("aria-label", data.label)
  const button = (className, label) => {
    const made = document.createElement("button")
    made.type = "button"
    made.className = className
    made.tabIndex = -1
    if (label) {
      made.title = label
      made.setAttribute("aria-label", label)
    }
    return made
  }
  // Before and after a part of a long text, a way on: to the token just beyond.
  const onward = end => {
    const made = button("end", end.label)
    made.textContent = end.position < data.first ? `‹ ${end.position}` : `${end.position} ›`
    made.onclick = () => setTriggerValue("picked", end.position)
    return made
  }
  if (data.name) {
    const name = document.createElement("span")
    name.className = "name"
    name.textContent = data.name
    name.title = data.label
    list.append(name)
  }
  list.append(...data.ends.filter(end => end.position < data.first).map(onward))
  data.chips.forEach((chip, n) => {
    const position = data.first + n
    const made = button("chip")
    made.style.setProperty("--chip", chip.colour)
    made.setAttribute("aria-pressed", String(position === data.selected))
    made.title = `${position}: ${chip.label} · ${chip.under} · ${chip.bytes}`
    const text = document.createElement("span")
    text.className = chip.whole ? "text" : "text bytes"
    text.textContent = chip.label
    const id = document.createElement("span")
    id.className = "id"
    id.textContent = chip.under
    made.append(text, id)
    made.onclick = () => setTriggerValue("picked", position)
    list.append(made)
  })
  list.append(...data.ends.filter(end => end.position >= data.first).map(onward))

  const before = root.querySelector(".chips")
  const walked = before ? [...before.querySelectorAll("button")].indexOf(parentElement.activeElement) : -1
  const scrolled = before ? [before.scrollLeft, before.scrollTop] : [0, 0]
  root.replaceChildren(list)
  const stops = [...list.querySelectorAll("button")]
  const chosen = list.querySelector('[aria-pressed="true"]')
  const stop = stops[walked] ?? chosen ?? stops[0]
  if (stop) stop.tabIndex = 0
  if (walked >= 0) stop?.focus({ preventScroll: true })
  list.onkeydown = event => {
    const at = stops.indexOf(event.target)
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: stops.length - 1 }[event.key]
    if (to === undefined || !stops[to]) return
    event.preventDefault()
    stops[at].tabIndex = -1
    stops[to].tabIndex = 0
    stops[to].focus()
  }
  // With the next picture: places asked for now would have the browser lay out the page once more.
  requestAnimationFrame(() => {
    [list.scrollLeft, list.scrollTop] = scrolled
    if (!chosen) return
    const left = chosen.offsetLeft - list.offsetLeft, above = chosen.offsetTop - list.offsetTop
    if (left < list.scrollLeft || left + chosen.offsetWidth > list.scrollLeft + list.clientWidth) {
      list.scrollLeft = left - (list.clientWidth - chosen.offsetWidth) / 2
    }
    if (above < list.scrollTop || above + chosen.offsetHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = above - list.clientHeight / 2
    }
  })
}
