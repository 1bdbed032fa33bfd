// Between the selection and the server; also what belongs to the document and not to a picture.
import { store } from "./store.js"
import { isDark, watched } from "./theme.js"

export function bridge(root, header, arrays, tell) {
  speak(header.language)
  const undress = dressed()
  store.bridge(header, selection => tell("selected", selection))
  // Back and Forward: at once here, and the server reads the address by itself.
  const back = () => {
    const query = new URL(location.href).searchParams
    const said = name => query.has(name) ? Number(query.get(name)) : header.initial[name]
    store.adopt({ layer: said("layer"), head: said("head"), token: said("token") })
  }
  addEventListener("popstate", back)
  const stop = header.sizes ? walking(header.sizes) : () => {}
  return () => {
    stop()
    undress()
    removeEventListener("popstate", back)
  }
}

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
