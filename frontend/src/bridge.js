// What belongs to the document and not to a picture: its language, its light or dark, and the arrow keys by a projector.
import { store } from "./store.js"
import { isDark, watched } from "./theme.js"

export function speak(language) {
  // Written anew, the same language too has the browser find the style of every element.
  if (document.documentElement.lang !== language) document.documentElement.lang = language
}

export function dressed() {
  dress()
  return watched(dress)
}

// Dialogs stand beside Streamlit's app, which tells none but its own that it is dark.
function dress() {
  const { style } = document.documentElement, scheme = isDark() ? "dark" : "light"
  if (style.colorScheme !== scheme) style.colorScheme = scheme
}

// On a projector the arrow keys choose head and layer, wherever nothing else listens to them.
const STEPS = { ArrowLeft: ["head", -1], ArrowRight: ["head", 1], ArrowUp: ["layer", -1], ArrowDown: ["layer", 1] }

export function walking(sizes) {
  const walk = event => {
    const inside = event.composedPath()[0]
    const isTaken = event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey
    if (isTaken || !(event.key in STEPS) || inside.closest?.("input, textarea, select, [role=radiogroup], [role=slider], [role=dialog], [role=tablist], [role=listbox], .viz:not(.viz-island)")) return
    const [name, step] = STEPS[event.key], wanted = store.selection[name] + step
    event.preventDefault()
    if (wanted >= 0 && wanted < sizes[name]) store.select({ [name]: wanted })
  }
  document.addEventListener("keydown", walk)
  return () => document.removeEventListener("keydown", walk)
}
