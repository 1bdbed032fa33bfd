// What scrolls by itself is reached by the keyboard: long formulas, tables and code on a narrow screen.
import { afterChanges } from "./changes.js"

const SCROLLING = ".katex-display, table, pre"

export function reachScrolling(within = document) {
  const scope = within === document ? `:is(main, [role=dialog]) :is(${SCROLLING})` : SCROLLING
  for (const part of within.querySelectorAll(scope)) {
    const isLarger = part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight + 1
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

export const reach = () => afterChanges(() => reachScrolling())
