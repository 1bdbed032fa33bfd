// Formulas: KaTeX comes with the first of a page, and what it made is kept.
import { make } from "./nodes.js"
import { file } from "./files.js"

const made = new Map()
let loading = null, katex = null

function style(place) {
  place.append(make("link", { rel: "stylesheet", href: file("katex.css") }))
}

function load() {
  style(document.head) // its fonts, which a style sheet of a shadow root does not declare
  return import(file("katex.js")).then(module => katex = module.default)
}

// Sets the formulas within an element, whose text is LaTeX: at once where KaTeX is there.
export function set(element) {
  const formulas = element.querySelectorAll("code.tex")
  if (!formulas.length) return
  if (!katex) {
    loading ??= load()
    loading.then(() => set(element))
    return
  }
  const { renderToString } = katex, root = element.getRootNode()
  if (root !== document && !root.querySelector("link[href*=katex]")) style(root)
  for (const formula of formulas) {
    const displayMode = formula.classList.contains("display"), key = `${displayMode} ${formula.textContent}`
    if (!made.has(key)) made.set(key, renderToString(formula.textContent, { displayMode, output: "htmlAndMathml", throwOnError: false }))
    formula.replaceWith(make("span", { innerHTML: made.get(key) }))
  }
}
