// A control of the page's own: one of a few options, each an entry of tables, or what the server is asked for.
import { child } from "./nodes.js"
import { store } from "./store.js"

export function chooser(me, root, item) {
  root.className = "chooser"
  const label = child(root, 0, "span", "label"), group = child(root, 1, "div", "options")
  label.textContent = item.label
  label.title = item.help
  const now = Math.max(0, item.names.indexOf(me.option(item.name) ?? item.usual))
  if (!item.asks) store.adopt({ [item.name]: now })
  radios(group, item.label, item.options, now, n => {
    me.choose(item.name, item.names[n], item.asks)
    chooser(me, root, item)
  })
}

// Buttons of which one is chosen: one stop of Tab, and arrows go from one to the next.
export function radios(group, label, options, chosen, pick) {
  group.setAttribute("role", "radiogroup")
  group.setAttribute("aria-label", label)
  options.forEach((option, n) => {
    const button = child(group, n, "button", "option")
    button.type = "button"
    button.setAttribute("role", "radio")
    if (button.textContent !== option) button.textContent = option
    button.setAttribute("aria-checked", String(n === chosen))
    button.tabIndex = n === Math.max(0, chosen) ? 0 : -1
    button.onclick = () => pick(n)
    button.onkeydown = event => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key]
      if (!step) return
      event.preventDefault()
      const to = (n + step + options.length) % options.length
      group.children[to].focus()
      pick(to)
    }
  })
  while (group.children.length > options.length) group.lastChild.remove()
}
