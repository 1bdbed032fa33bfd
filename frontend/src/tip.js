// What a term means, beside it: above all else on the page, and within its edges.
const EDGE = 8, BELOW = 6

export function tip(root) {
  const box = document.createElement("div")
  box.className = "told"
  box.popover = "manual"
  box.setAttribute("role", "status")
  root.append(box)
  box.onpointerenter = stay
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
    if (shown !== term) {
      const name = Object.assign(document.createElement("b"), { textContent: term.name })
      const source = Object.assign(document.createElement("small"), { textContent: term.source })
      box.replaceChildren(name, ` ${term.says}`, ...(term.source ? [source] : []))
    }
    if (!shown) box.showPopover()
    shown = term
    const { width, height } = box.getBoundingClientRect()
    const under = rect.bottom + BELOW, isHigh = under + height + EDGE > innerHeight
    box.style.top = `${isHigh ? Math.max(EDGE, rect.top - BELOW - height) : under}px`
    box.style.left = `${Math.max(EDGE, Math.min(rect.left, innerWidth - width - EDGE))}px`
  }
  return { show, hide, holds: event => event.composedPath().includes(box) }
}
