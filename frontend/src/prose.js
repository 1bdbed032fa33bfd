// What is said of each layer, head and token. Streamlit draws what is said of those that the server knows; of others it
// is written over that in the frame of the click, until Streamlit has drawn it. Python's side is
// viz_model/app/following.py, and frame.css hides what is written over.
import { caseOf } from "./cases.js"
import { APP, isRunning } from "./running.js"
import { store } from "./store.js"

const OVER = "viz-said", HIDDEN = "data-said-over"
const MAIN = "[data-testid=stMain]", ELEMENT = "[data-testid=stElementContainer]"
// Of each kind what Streamlit's element of it holds, down to where the words stand.
const WORDS = {
  title: "[data-testid=stHeading] h3 [data-heading-text]",
  text: "[data-testid=stMarkdown] [data-testid=stMarkdownContainer]",
  note: "[data-testid=stMarkdown] [data-testid=stCaptionContainer]",
  notice: "[data-testid=stAlert] [data-testid=stMarkdownContainer]",
  options: "[data-testid=stButtonGroup] [data-testid=stWidgetLabel] [data-testid=stMarkdownContainer]",
}

const placeOf = key => document.querySelector(`.st-key-${key.replace(/[^\w-]/g, "-")}`)

export function prose(root, header) {
  const made = root.prose ??= { said: store.selection }
  made.header = header
  // From a click on until the page settles Streamlit may draw what was selected in between.
  const follow = () => {
    over(made)
    made.said = null
  }
  // What Streamlit has drawn is what is selected once the server has nothing more to say of it.
  const settle = () => {
    if (store.isAwaited || isRunning()) return
    made.said = store.selection
    uncover()
  }
  settle()
  if (!made.said) over(made)
  const stops = [store.subscribe(follow), store.answered(settle)]
  const app = document.querySelector(APP), observer = new MutationObserver(settle)
  if (app) observer.observe(app, { attributeFilter: ["data-test-script-state"] })
  return () => {
    stops.forEach(stop => stop())
    observer.disconnect()
    uncover()
  }
}

function uncover() {
  for (const place of document.querySelectorAll(`[${HIDDEN}]`)) lift(place)
}

function lift(place) {
  place.removeAttribute(HIDDEN)
  for (const one of [...place.children]) if (one.classList.contains(OVER)) one.remove()
}

// Everything is looked up before anything is written, or the page would be laid out in between.
function over({ header, said }) {
  const changes = []
  for (const [key, { by, cases }] of Object.entries(header.places)) {
    const place = placeOf(key)
    if (!place) continue
    const now = caseOf({ by, cases }, store.selection), before = said && caseOf({ by, cases }, said)
    const differs = now !== undefined && String(now) !== String(before)
    changes.push([place, differs ? written(place, now.map(n => header.said[n])) : null])
  }
  for (const [place, elements] of changes) {
    lift(place)
    if (!elements) continue
    place.append(...elements)
    place.setAttribute(HIDDEN, "")
  }
}

// Elements like those that Streamlit draws; null where the page has none of a kind to go by, or lacks a formula.
function written(place, said) {
  const elements = []
  for (const [what, tree] of said) {
    const like = modelOf(place, what)?.cloneNode(true)
    if (!like) return null
    like.classList.add(OVER)
    if (what === "options" && !offer(like, tree.slice(1))) return null
    const holds = what === "title" ? tree.flatMap(([, ...inner]) => inner) : what === "options" ? tree[0] : tree
    const nodes = holds.map(built)
    if (nodes.includes(null)) return null
    like.querySelector(WORDS[what]).replaceChildren(...nodes)
    elements.push(like)
  }
  return elements
}

// Options that nobody has picked, to be looked at until Streamlit's own stand there.
function offer(like, options) {
  const group = like.querySelector("[role=radiogroup]"), model = group?.querySelector("[role=radio][aria-checked=false]")
  if (!model) return false
  like.inert = true
  const labels = options.map(tree => tree.map(built))
  if (labels.flat().includes(null)) return false
  group.replaceChildren(...labels.map(nodes => {
    const option = model.cloneNode(true)
    option.querySelector("[data-testid=stMarkdownContainer]").replaceChildren(...nodes)
    return option
  }))
  return true
}

function modelOf(place, what) {
  for (const among of [place, document.querySelector(MAIN)]) {
    for (const words of among?.querySelectorAll(WORDS[what]) ?? []) {
      const element = words.closest(ELEMENT)
      if (among === place || element?.getAttribute("width") === "100%") return element
    }
  }
  return null
}

// Streamlit alone can set a formula: one that stands somewhere on the page is copied, null where there is none.
function formula(latex) {
  for (const written of document.querySelectorAll(`${MAIN} :not(.katex-display) > .katex annotation`)) {
    if (written.textContent === latex) return written.closest(".katex").cloneNode(true)
  }
  return null
}

function built(tree) {
  if (typeof tree === "string") return document.createTextNode(tree)
  const [name, ...inner] = tree, [tag, aligned] = name.split(" ")
  if (name === "formula") return formula(inner[0])
  const held = inner.map(built)
  if (held.includes(null)) return null
  const element = document.createElement(tag)
  if (aligned) element.style.textAlign = aligned
  if (tag === "code") element.className = document.querySelector(`${MAIN} [data-testid=stMarkdownContainer] :not(pre) > code[class]`)?.className ?? ""
  element.append(...held)
  return element
}
