// Technical terms in the page's prose: underlined where each first stands, told at hover or tap, and listed for
// who comes by keyboard. The page's elements are React's and stay as they are: terms are highlighted ranges.
import { afterChanges } from "./changes.js"
import { found, patterns } from "./glossary.js"
import { make } from "./nodes.js"
import { tip } from "./tip.js"

const NAME = "viz-terms"
const PROSE = ":is(main, [role=dialog]) [data-testid=stMarkdownContainer]"
const NOT = "a, button, label, summary, code, pre, h1, h2, h3, h4, h5, h6, [role=tab], .katex, style"
const LINES = "p, li, td, th, dd, dt"
const GAP = "\uFFFC" // in place of what is not searched, so that no term reaches across it

// Lines of prose that can be seen, each with its text nodes and what of it is searched; an island has its own.
function* lines(island) {
  for (const part of [...document.querySelectorAll(PROSE), ...island?.querySelectorAll(".prose") ?? []]) {
    if (part.closest(NOT) || !part.checkVisibility()) continue
    for (const line of part.querySelectorAll(LINES)) {
      const pieces = []
      let text = ""
      const walk = parent => {
        for (const node of parent.childNodes) {
          if (node.nodeType === Node.TEXT_NODE) {
            pieces.push({ node, from: text.length })
            text += node.data
          } else if (node.nodeType === Node.ELEMENT_NODE) {
            if (node.matches(NOT) || node.matches(LINES)) text += GAP
            else walk(node)
          }
        }
      }
      walk(line)
      if (pieces.length) yield { text, pieces }
    }
  }
}

function rangeOf(pieces, start, end) {
  const range = new Range()
  const at = (n, isEnd) => pieces.findLast(piece => isEnd ? piece.from < n : piece.from <= n)
  const first = at(start, false), last = at(end, true)
  range.setStart(first.node, start - first.from)
  range.setEnd(last.node, end - last.from)
  return range
}

const list = (root, title) => {
  const summary = make("summary", {}, title), rows = make("dl"), fold = make("details", { className: "terms" }, summary, rows)
  root.replaceChildren(fold)
  let shown = "", rest = () => {}
  const write = (here, lead) => {
    const now = here.map(({ term }) => term.name).join("\n")
    if (now === shown) return
    shown = now
    rows.replaceChildren(...here.flatMap(({ term }) => [
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

export function terms(root, { terms, title, spaced }, arrays, tell, island) {
  const known = patterns(terms, spaced)
  const fill = list(root, title)
  const { show, hide, holds } = tip(root)
  let here = [], byElement = new Map()

  function scan() {
    here = []
    const seen = new Set()
    for (const { text, pieces } of lines(island)) {
      for (const { term, start, end } of found(text, known)) {
        if (seen.has(term)) continue
        seen.add(term)
        here.push({ term, range: rangeOf(pieces, start, end) })
      }
    }
    byElement = Map.groupBy(here, ({ range }) => range.startContainer.parentElement)
    globalThis.CSS?.highlights?.set(NAME, new Highlight(...here.map(({ range }) => range)))
    fill(here, lead)
  }

  const within = (rect, x, y) => x >= rect.left && x <= rect.right && y >= rect.top && y <= rect.bottom
  function at(event) {
    const { clientX, clientY } = event
    for (const one of byElement.get(event.composedPath()[0]) ?? []) {
      for (const rect of one.range.getClientRects()) if (within(rect, clientX, clientY)) return { term: one.term, rect }
    }
    return null
  }
  function lead(term) {
    const place = here.find(one => one.term === term)?.range
    if (!place) return
    place.startContainer.parentElement.scrollIntoView({ block: "center", behavior: "instant" })
    show(term, place.getBoundingClientRect())
  }

  const point = event => {
    if (event.pointerType === "touch") return
    const hit = at(event)
    if (hit) show(hit.term, hit.rect)
    else if (!holds(event)) hide(200)
  }
  const tap = event => {
    if (holds(event) || root.contains(event.composedPath()[0])) return
    const hit = at(event)
    if (hit) show(hit.term, hit.rect)
    else hide()
  }
  const key = event => event.key === "Escape" && hide()
  const scrolled = () => hide()
  const leave = new AbortController()
  for (const [name, heard] of Object.entries({ pointermove: point, click: tap, keydown: key, wheel: scrolled, touchmove: scrolled })) {
    document.addEventListener(name, heard, { passive: true, signal: leave.signal })
  }
  let waiting = 0
  root.rescan = () => { // what changes within an island is seen from nowhere else
    clearTimeout(waiting)
    waiting = setTimeout(scan, 150)
  }
  const stop = afterChanges(scan, { characterData: true, attributeFilter: ["open"] })
  return () => {
    stop()
    clearTimeout(waiting)
    hide()
    globalThis.CSS?.highlights?.delete(NAME)
    leave.abort()
  }
}
