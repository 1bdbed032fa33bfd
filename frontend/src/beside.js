// Two texts side by side: each item of the page stands twice in a row, on the left the first text's. What is selected is
// selected in both, where a token beyond the shorter text is its last; what differs is marked.
import { child } from "./nodes.js"

// The page as its right side sees it.
export function beside(me) {
  return me.other ??= Object.create(me, {
    isBeside: { value: true },
    sizes: { get: () => me.page.sides[1] },
  })
}

// Lines that the other side does not say.
export function compare(me, root) {
  for (const row of root.querySelectorAll(".row.sides")) {
    const sides = [...row.children].map(column => [...column.querySelectorAll(".prose > *")])
    const said = sides.map(lines => new Set(lines.map(line => line.said)))
    sides.forEach((lines, n) => lines.forEach(line => {
      const differs = !!line.said && !said[1 - n].has(line.said)
      line.classList.toggle("differs", differs)
      line.title = differs ? me.page.words.differs : ""
    }))
  }
}

// The box of the other text, which a button opens with the first one in it, to be changed; empty it is none again.
export function other(me, root, button, { box, name, text, opens, closes }) {
  root.isOpen = !!text || (!!root.isOpen && !me.isLed && box.matches(":focus"))
  const show = () => {
    root.classList.toggle("closed", !root.isOpen)
    box.hidden = root.children[1].hidden = !root.isOpen
    child(button, 0, "b").textContent = root.isOpen ? "×" : "≠"
    child(button, 1, "span").textContent = root.isOpen ? "" : opens
    button.title = root.isOpen ? closes : ""
    button.setAttribute("aria-label", root.isOpen ? closes : opens)
    button.setAttribute("aria-expanded", String(root.isOpen))
  }
  button.type = "button"
  button.onclick = () => {
    root.isOpen = !root.isOpen
    show()
    if (!root.isOpen) {
      box.value = box.typed = ""
      me.type({ [name]: "" }, true)
      return button.focus()
    }
    box.value = box.typed = me.page.boxes[0].text
    box.focus()
    box.select()
  }
  show()
}
