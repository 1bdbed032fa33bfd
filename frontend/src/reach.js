// What scrolls by itself is reached by the keyboard: long formulas, tables and code on a narrow screen.
const SCROLLING = ".katex-display, table, pre, [data-testid=stVerticalBlock], [data-testid=stMarkdownContainer]"

function reachScrolling() {
  for (const part of document.querySelectorAll(`:is([data-testid=stMain], [role=dialog]) :is(${SCROLLING})`)) {
    const isLarger = part.scrollWidth > part.clientWidth + 1 || part.scrollHeight > part.clientHeight + 1
    const scrolls = isLarger && /auto|scroll/.test(getComputedStyle(part).overflow)
    if (scrolls && !part.hasAttribute("tabindex")) {
      part.tabIndex = 0
      part.dataset.reached = ""
    } else if (!scrolls && "reached" in part.dataset) {
      part.removeAttribute("tabindex")
      delete part.dataset.reached
    }
  }
}

// Does something now, and again a moment after the page or its size has changed; what stops that is returned.
function afterChanges(action, delay = 150) {
  let waiting = 0
  const later = () => {
    clearTimeout(waiting)
    waiting = setTimeout(action, delay)
  }
  const changes = new MutationObserver(later)
  changes.observe(document.body, { childList: true, subtree: true })
  addEventListener("resize", later)
  later()
  return () => {
    clearTimeout(waiting)
    changes.disconnect()
    removeEventListener("resize", later)
  }
}

export const reach = () => afterChanges(reachScrolling)
