// A module tree that folds: a row a module, with its shapes, its parameters and their share of all.
export function tree(root, data, arrays, tell) {
  const add = (parent, tag, className, text) => {
    const element = document.createElement(tag)
    if (className) element.className = className
    if (text !== undefined) element.textContent = text
    parent.append(element)
    return element
  }
  root.replaceChildren()
  const bar = add(root, "div", "bar")
  const list = add(root, "div", "tree")
  list.setAttribute("aria-label", data.words.alt)
  const folds = []

  const line = (parent, node, depth) => {
    const row = add(parent, node.children.length ? "summary" : "div", "row")
    row.style.setProperty("--depth", depth)
    const name = add(row, "span", "name")
    add(name, "b", "", node.name)
    add(name, "span", "kind", node.kind)
    const shapes = add(row, "span", "shapes")
    node.shapes.forEach(shape => add(shapes, "code", "", shape))
    if (node.note) add(shapes, "span", "note", node.note)
    const size = add(row, "span", "size", node.size)
    size.title = node.short
    const share = add(row, "span", "share", node.percent)
    share.style.setProperty("--share", `${100 * node.share}%`)
    return row
  }
  const grow = (parent, node, depth) => {
    if (!node.children.length) return line(parent, node, depth)
    const fold = add(parent, "details")
    fold.open = depth < 3
    folds.push([fold, depth])
    line(fold, node, depth)
    node.children.forEach(child => grow(fold, child, depth + 1))
  }
  const head = add(list, "div", "row head")
  for (const [key, className] of [["module", "name"], ["shape", "shapes"], ["parameters", "size"]]) {
    add(head, "span", className, data.words[key])
  }
  add(head, "span", "share", "%")
  grow(list, data.root, 0)
  for (const [key, open] of [["open", true], ["close", false]]) {
    const button = add(bar, "button", "", data.words[key])
    button.type = "button"
    button.onclick = () => folds.forEach(([fold, depth]) => { fold.open = open || depth < 1 })
  }
}
