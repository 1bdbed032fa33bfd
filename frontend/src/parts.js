// The parts of two models as a table: what differs on top, what is alike folded away.
export function parts(root, data, arrays, tell) {
  const add = (parent, tag, className, text) => {
    const element = document.createElement(tag)
    if (className) element.className = className
    if (text !== undefined) element.textContent = text
    parent.append(element)
    return element
  }
  const opened = root.querySelector("details")?.open ?? false
  root.replaceChildren()
  root.setAttribute("aria-label", data.words.alt)

  const head = add(root, "div", "row head")
  head.setAttribute("aria-hidden", "true")
  add(head, "span")
  data.names.forEach((name, which) => {
    const cell = add(head, "span", "name")
    add(cell, "span", "", which ? "■ " : "● ").style.color = data.colours[which]
    cell.append(name)
  })

  const row = (parent, part) => {
    const line = add(parent, "div", part.differs ? "row differs" : "row same")
    const label = add(line, "div", "label")
    if (part.differs) {
      const mark = add(label, "span", "mark", "≠")
      mark.title = data.words.differ
    }
    add(label, "span", "part", part.name)
    const values = part.differs ? part.values : part.values.slice(0, 1)
    values.forEach((value, which) => {
      const cell = add(line, "div", "value", value)
      if (part.differs) {
        cell.style.borderColor = data.colours[which]
        cell.title = data.names[which]
      }
    })
    const why = add(line, "div", "why", `${part.why} `)
    const link = add(why, "button", "link", `${part.title} →`)
    link.type = "button"
    link.onclick = () => tell("picked", part.page)
  }
  data.rows.filter(part => part.differs).forEach(part => row(root, part))
  const alike = data.rows.filter(part => !part.differs)
  if (!alike.length) return
  const fold = add(root, "details")
  fold.open = opened
  add(fold, "summary", "", data.words.same)
  alike.forEach(part => row(fold, part))
}
