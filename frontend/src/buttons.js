// Buttons in a row: each chooses options of the page, writes into the boxes of the sentence, changes what is looked at, or
// has the server do what the page says under a name.
import { children, say } from "./nodes.js"
import { pick } from "./pick.js"

export function buttons(me, root, item) {
  root.className = "options buttons"
  const at = value => pick(value, me.place, me.arrays)
  children(root, item.buttons, "button.option", (button, { label, options, words, change, press, is_off }) => {
    Object.assign(button, { type: "button", disabled: !!at(is_off) })
    say(button, at(label) ?? "")
    button.onclick = () => {
      const chosen = Object.entries(options), isTyped = Object.keys(words).length > 0
      chosen.forEach(([name, option], k) => me.choose(name, option, !isTyped && k === chosen.length - 1))
      if (isTyped) me.type(words, true, true)
      if (press) me.tell("picked", { of: "press", value: { name: press, ...me.place } })
      const changed = Object.entries(change)
      if (changed.length) me.tell("picked", { of: "view", value: Object.fromEntries(changed.map(([name, one]) => [name, at(one)])) })
    }
  })
}
