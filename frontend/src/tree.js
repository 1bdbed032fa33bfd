// A module tree that folds: a row a module, with its shapes, its parameters and their share of all.
import { make } from "./nodes.js"

const span = (className, ...inside) => make("span", { className }, ...inside)

export function tree(root, { words, root: whole }) {
  const folds = []
  const line = (node, depth) => {
    const shapes = node.shapes.map(shape => make("code", {}, shape)), share = span("share", node.percent)
    if (node.note) shapes.push(span("note", node.note))
    const size = make("span", { className: "size", title: node.short }, node.size)
    const row = make(node.children.length ? "summary" : "div", { className: "row" },
      span("name", make("b", {}, node.name), span("kind", node.kind)), span("shapes", ...shapes), size, share)
    row.style.setProperty("--depth", depth)
    share.style.setProperty("--share", `${100 * node.share}%`)
    return row
  }
  const grow = (node, depth) => {
    if (!node.children.length) return line(node, depth)
    const fold = make("details", { open: depth < 3 }, line(node, depth), ...node.children.map(one => grow(one, depth + 1)))
    folds.push([fold, depth])
    return fold
  }
  const button = (label, open) => make("button", { type: "button", onclick: () => folds.forEach(([fold, depth]) => { fold.open = open || depth < 1 }) }, label)
  const head = make("div", { className: "row head" }, span("name", words.module), span("shapes", words.shape), span("size", words.parameters), span("share", "%"))
  root.replaceChildren(
    make("div", { className: "bar" }, button(words.open, true), button(words.close, false)),
    make("div", { className: "tree", "aria-label": words.alt }, head, grow(whole, 0)),
  )
}
