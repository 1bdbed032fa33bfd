// The parts of two models as a table: what differs on top, what is alike folded away.
import { make } from "./nodes.js"

export function parts(root, { words, names, colors, rows, links = true }, arrays, tell) {
  const opened = root.querySelector("details")?.open ?? false
  const span = (className, ...inside) => make("span", { className }, ...inside)
  root.setAttribute("aria-label", words.alt)

  const head = make("div", { className: "row head", "aria-hidden": "true" }, span(""), ...names.map((name, which) => {
    const mark = span("", which ? "■ " : "● ")
    mark.style.color = colors[which]
    return span("name", mark, name)
  }))
  const row = part => {
    const values = (part.differs ? part.values : part.values.slice(0, 1)).map((value, which) => {
      const cell = make("div", { className: "value" }, value)
      if (part.differs) {
        cell.style.borderColor = colors[which]
        cell.title = names[which]
      }
      return cell
    })
    const label = make("div", { className: "label" }, ...(part.differs ? [make("span", { className: "mark", title: words.differ }, "≠")] : []), span("part", part.name))
    const link = make("button", { className: "link", type: "button", onclick: () => tell("picked", part.page) }, `${part.title} →`)
    return make("div", { className: part.differs ? "row differs" : "row same" }, label, ...values, make("div", { className: "why" }, `${part.why} `, ...(links ? [link] : [])))
  }
  const alike = rows.filter(part => !part.differs)
  const fold = alike.length ? [make("details", { open: opened }, make("summary", {}, words.same), ...alike.map(row))] : []
  root.replaceChildren(head, ...rows.filter(part => part.differs).map(row), ...fold)
}
