// A new element with its properties, and as attributes what is none of them, such as aria-label; then what it holds. A
// button sends no form.
export function make(tag, given = {}, ...inside) {
  const made = document.createElement(tag)
  if (tag === "button") made.type = "button"
  for (const [name, value] of Object.entries(given)) name in made ? made[name] = value : made.setAttribute(name, value)
  made.append(...inside)
  return made
}

// The n-th child of an element, made where there is none of that kind yet.
export function child(parent, n, tag, name = "") {
  const found = parent.children[n]
  if (found?.localName === tag) return found
  const made = make(tag, name ? { className: name } : {})
  found ? found.replaceWith(made) : parent.append(made)
  return made
}

// A child for each of a list, and no more; "button.option" is a button that is made with that class.
export function children(parent, list, kind, fill) {
  const [tag, name] = kind.split(".")
  list.forEach((one, n) => fill(child(parent, n, tag, name), one, n))
  while (parent.children.length > list.length) parent.lastChild.remove()
}

// Only what differs: what stands there already has the browser do nothing.
export const say = (element, text) => { if (element.textContent !== text) element.textContent = text }

// In rows of cells that are one stop of Tab: from one of them an arrow, Home or End leads to the one that has the focus now.
export function rove(rows, event, from) {
  const row = rows.findIndex(line => line.includes(from)), column = rows[row]?.indexOf(from)
  const to = { ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1], Home: [row, 0], End: [row, Infinity] }[event.key]
  if (row < 0 || !to) return
  event.preventDefault()
  const nearest = (list, n) => list[Math.min(list.length - 1, Math.max(0, n))], next = nearest(nearest(rows, to[0]), to[1])
  from.tabIndex = -1
  next.tabIndex = 0
  next.focus()
}
