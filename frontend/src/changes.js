// Does something now, and again a moment after the page or its size has changed; what stops that is returned.
// `watched` is what a MutationObserver looks at besides children.
export function afterChanges(action, watched = {}, delay = 150) {
  let waiting = 0
  const later = () => {
    clearTimeout(waiting)
    waiting = setTimeout(action, delay)
  }
  const changes = new MutationObserver(later)
  changes.observe(document.body, { childList: true, subtree: true, ...watched })
  addEventListener("resize", later)
  later()
  return () => {
    clearTimeout(waiting)
    changes.disconnect()
    removeEventListener("resize", later)
  }
}
