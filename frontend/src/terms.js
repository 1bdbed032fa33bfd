// Technical terms: what a text marks as one tells its meaning at hover or tap, and is listed for who comes by keyboard.
import { afterChanges } from "./changes.js"
import { make } from "./nodes.js"
import { tip } from "./tip.js"

const STREAMLITS = 'a[href^="#term-"]', MARKED = `[data-term], ${STREAMLITS}`
const keyOf = element => element.dataset.term ?? element.hash.slice("#term-".length)

const list = (root, title) => {
  const summary = make("summary", {}, title), rows = make("dl"), fold = make("details", { className: "terms" }, summary, rows)
  root.replaceChildren(fold)
  let shown = "", rest = () => {}
  const write = (here, lead) => {
    const now = here.map(([term]) => term.name).join("\n")
    if (now === shown) return
    shown = now
    rows.replaceChildren(...here.flatMap(([term]) => [
      make("dt", {}, make("button", { type: "button", onclick: () => lead(term) }, term.name)),
      make("dd", {}, term.says, ...(term.source ? [make("small", {}, term.source)] : [])),
    ]))
  }
  // Rows are for who opens the list; what a click opens is told of it only later.
  summary.onclick = () => rest(true)
  fold.ontoggle = () => rest()
  return (here, lead) => {
    fold.hidden = !here.length
    rest = opens => (opens || fold.open) && write(here, lead)
    rest()
  }
}

export function terms(root, { terms, title }, island) {
  const known = Object.fromEntries(Object.entries(terms).map(([key, [name, says, source]]) => [key, { name, says, source }]))
  const fill = list(root, title)
  const { show, hide, holds } = tip(root)
  let here = new Map() // where each first stands

  function scan() {
    here = new Map()
    for (const element of [...island.querySelectorAll("[data-term]"), ...document.querySelectorAll(STREAMLITS)]) {
      const term = known[keyOf(element)]
      if (!here.has(term) && element.checkVisibility()) here.set(term, element)
    }
    fill([...here], lead)
  }
  const tell = element => show(known[keyOf(element)], element.getBoundingClientRect())
  function lead(term) {
    const element = here.get(term)
    if (!element?.isConnected) return
    element.scrollIntoView({ block: "center", behavior: "instant" })
    tell(element)
  }

  const at = event => event.composedPath()[0].closest?.(MARKED)
  const point = event => {
    if (event.pointerType === "touch") return
    const element = at(event)
    if (element) tell(element)
    else if (!holds(event)) hide(200)
  }
  const tap = event => {
    if (holds(event) || root.contains(event.composedPath()[0])) return
    const element = at(event)
    if (!element) return hide()
    event.preventDefault() // of a link there is nowhere to go
    tell(element)
  }
  const key = event => event.key === "Escape" && hide()
  const scrolled = () => hide()
  const leave = new AbortController()
  for (const [name, heard] of Object.entries({ pointerover: point, click: tap, keydown: key, wheel: scrolled, touchmove: scrolled })) {
    document.addEventListener(name, heard, { passive: name !== "click", capture: name === "click", signal: leave.signal })
  }
  let waiting = 0
  root.rescan = () => { // what changes within an island is seen from nowhere else
    clearTimeout(waiting)
    waiting = setTimeout(scan, 150)
  }
  const stop = afterChanges(scan, { attributeFilter: ["open"] })
  return () => {
    stop()
    clearTimeout(waiting)
    hide()
    leave.abort()
  }
}
