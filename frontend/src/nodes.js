// The n-th child of an element, made where there is none of that kind yet.
export function child(parent, n, tag, name = "") {
  let found = parent.children[n]
  if (found?.localName !== tag) {
    const made = document.createElement(tag)
    if (name) made.className = name
    found ? found.replaceWith(made) : parent.append(made)
    found = made
  }
  return found
}
