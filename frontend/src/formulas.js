// Formulas: KaTeX comes with the first of a page, and what it made is kept.
const made = new Map()
let katex = null
const file = name => new URL(name, import.meta.url).href

function style(place) {
  const link = document.createElement("link")
  Object.assign(link, { rel: "stylesheet", href: file("./katex.css") })
  place.append(link)
}

function load() {
  style(document.head) // its fonts, which a style sheet of a shadow root does not declare
  return import(file("./katex.js")).then(module => module.default)
}

// Sets the formulas within an element, whose text is LaTeX.
export async function set(element) {
  const formulas = element.querySelectorAll("code.tex")
  if (!formulas.length) return
  katex ??= load()
  const { renderToString } = await katex, root = element.getRootNode()
  if (root !== document && !root.querySelector("link[href*=katex]")) style(root)
  for (const formula of formulas) {
    const displayMode = formula.classList.contains("display"), key = `${displayMode} ${formula.textContent}`
    if (!made.has(key)) made.set(key, renderToString(formula.textContent, { displayMode, output: "htmlAndMathml", throwOnError: false }))
    const span = document.createElement("span")
    span.innerHTML = made.get(key)
    formula.replaceWith(span)
  }
}
