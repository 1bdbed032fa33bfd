// What a term means, beside it: above all else on the page, and within its edges.
import { make } from "./nodes.js"

const EDGE = 8, BELOW = 6

export function tip(root) {
  const box = make("div", { className: "told", popover: "manual", role: "status", onpointerenter: stay })
  root.append(box)
  let waiting = 0, shown = null

  function stay() {
    clearTimeout(waiting)
    waiting = 0
  }
  function hide(delay = 0) {
    if (!shown) return
    if (delay) return void (waiting ||= setTimeout(hide, delay))
    stay()
    shown = null
    box.hidePopover()
  }
  function show(term, rect) {
    stay()
    if (shown !== term) box.replaceChildren(make("b", {}, term.name), ` ${term.says}`, ...(term.source ? [make("small", {}, term.source)] : []))
    if (!shown) box.showPopover()
    shown = term
    const { width, height } = box.getBoundingClientRect()
    const under = rect.bottom + BELOW, isHigh = under + height + EDGE > innerHeight
    box.style.top = `${isHigh ? Math.max(EDGE, rect.top - BELOW - height) : under}px`
    box.style.left = `${Math.max(EDGE, Math.min(rect.left, innerWidth - width - EDGE))}px`
  }
  return { show, hide, holds: event => event.composedPath().includes(box) }
}
