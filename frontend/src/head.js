// What stays in sight above a page: the sentence as one types it, and its tokens; below it what the page is called.
import { other } from "./beside.js"
import { chips } from "./chips.js"
import { child, children, make, say } from "./nodes.js"
import { search } from "./search.js"
import { lines, write } from "./lines.js"

export function head(me, root) {
  const { page } = me, bar = child(root, 0, "div", "bar"), below = child(root, 1, "div", "below")
  root.classList.toggle("patches", !page.boxes.length)
  root.classList.toggle("beneath", !!page.beneath) // a field that alone stays in sight
  root.classList.toggle("draws", !!page.draws) // beside the field to draw in, which is wider than a picture
  const line = child(bar, 0, "div", "line")
  page.boxes.forEach((box, n) => field(me, fieldOf(line, n, box.name), box))
  while (line.children.length > page.boxes.length) line.lastChild.remove()
  me.parts(child(bar, 1, "div", "controls"), page.controls)
  const ribbons = child(bar, 2, "div", "ribbons")
  ribbons.classList.toggle("sides", page.sides.length > 1)
  page.ribbons.forEach((ribbon, n) => {
    const place = child(ribbons, n, "div"), now = JSON.stringify(ribbon)
    if (place.now === now) return
    place.now = now
    place.ends?.()
    place.className = "viz viz-chips"
    place.ends = chips(place, ribbon, me.arrays, (name, token) => me.tell("picked", { of: ribbon.side, value: token }))
  })
  while (ribbons.children.length > page.ribbons.length) {
    ribbons.lastChild.ends?.()
    ribbons.lastChild.remove()
  }
  finder(me, child(bar, 3, "div", "search"))
  const heading = child(below, 0, "h1")
  say(heading, page.heading)
  heading.hidden = !page.heading
  const notes = child(below, 1, "div")
  Object.assign(notes, { item: { kind: "prose", lines: page.notes }, me })
  lines(me, notes, notes.item)
}

function finder(me, root) {
  const { search: given } = me.page
  if (!given) return root.search?.end(), void delete root.search
  root.search ??= search(root, me.tell)
  root.search.take(given)
}

// The n-th box; one that held something else, as another model has more of them, is made anew.
function fieldOf(line, n, name) {
  const before = line.children[n]
  if (before && before.dataset.box !== name) before.replaceWith(make("div"))
  const root = child(line, n, "div")
  root.classList.add("field")
  root.dataset.box = name
  return root
}

// A box in which one types: answered letter by letter where a run is quick, never while a character is being composed.
function field(me, root, { name, text, label, hint, live, count, fixed, examples, examples_label, opens, closes, keeps }) {
  const box = child(root, 0, "input", "sentence")
  box.setAttribute("aria-label", label)
  box.placeholder = hint ?? ""
  box.readOnly = !!fixed
  const now = fixed ? text : me.typed[name] ?? text // the answer to a letter comes after the next one is typed
  if (!box.composing && box.value !== now) box.value = now
  const typed = isDone => me.type({ [name]: box.value }, live || isDone)
  box.oncompositionstart = () => { box.composing = true }
  box.oncompositionend = () => {
    box.composing = false
    typed(false)
  }
  box.oninput = event => !box.composing && !event.isComposing && typed(false)
  box.onchange = () => typed(true)
  box.onkeydown = event => { if (event.key === "Enter" && !event.isComposing) typed(true) } // false would undo the key
  say(child(root, 1, "span", "count"), count ?? "")
  menu(me, child(root, 2, "div", "examples"), name, examples ?? [], examples_label)
  if (keeps) {
    const keep = child(root, 3, "button", "keep")
    Object.assign(keep, { type: "button", title: keeps, onclick: () => me.tell("picked", { of: "keep", value: {} }) })
    child(keep, 0, "b").textContent = "✎"
    child(keep, 1, "span").textContent = keeps
  }
  if (!keeps && !opens) root.children[3]?.remove() // another model keeps nothing
  if (opens) other(me, root, child(root, 3, "button", "other"), { box, name, text, opens, closes })
}

// Sentences to take.
function menu(me, root, name, examples, label) {
  const details = child(root, 0, "details"), summary = child(details, 0, "summary"), list = child(details, 1, "div", "list")
  root.hidden = !examples.length
  say(summary, label ?? "")
  children(list, examples, "button", (button, [words, example]) => {
    button.type = "button"
    say(button, words)
    button.onclick = () => {
      details.open = false
      me.type({ [name]: example }, true, true)
    }
  })
  details.onkeydown = event => {
    if (event.key !== "Escape") return
    details.open = false
    summary.focus()
  }
}
