// Buttons in a row: each chooses options of the page, or writes into the boxes of the sentence.
import { child } from "./nodes.js"

export function buttons(me, root, item) {
  root.className = "options"
  item.buttons.forEach(({ label, options, words, is_off }, n) => {
    const button = child(root, n, "button", "option")
    Object.assign(button, { type: "button", disabled: is_off })
    if (button.textContent !== label) button.textContent = label
    button.onclick = () => {
      const chosen = Object.entries(options), isTyped = Object.keys(words).length > 0
      chosen.forEach(([name, option], k) => me.choose(name, option, !isTyped && k === chosen.length - 1))
      if (isTyped) me.type(words, true, true)
    }
  })
  while (root.children.length > item.buttons.length) root.lastChild.remove()
}
