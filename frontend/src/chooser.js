// A control of the page's own: one of a few options, each an entry of tables, or what the server is asked for. Steps of
// a scale are gone through with a slider, and many or long ones stand in a list.
import { child, children, say } from "./nodes.js"
import { pick } from "./pick.js"
import { store } from "./store.js"

export function chooser(me, root, item) {
  root.className = "chooser"
  const [names, options] = [item.names, item.options].map(one => pick(one, me.place, me.arrays))
  root.toggleAttribute("data-waiting", options === undefined)
  if (options === undefined) return // what stood there stays, faint, until the answer comes
  const label = child(root, 0, "span", "label"), group = child(root, 1, "div", "options"), refused = child(root, 2, "div", "notice")
  refused.innerHTML = item.refused
  refused.hidden = !item.refused || (names ?? []).includes(me.option(item.name))
  label.textContent = item.label
  label.title = item.help
  if (typeof item.options === "number") return numbered(me, root, item, group)
  const now = [me.option(item.name), item.usual].map(name => names.indexOf(name)).find(n => n >= 0) ?? 0
  if (!item.asks) store.adopt({ [item.name]: now })
  const choose = n => {
    me.choose(item.name, names[n], item.asks, item.anew)
    chooser(me, root, item)
  }
  const draw = item.is_list ? listed : item.is_scale ? slider : radios
  draw(group, item.label, options, now, choose)
}

function slider(group, label, options, chosen, pick) {
  const input = child(group, 0, "input"), said = child(group, 1, "output")
  Object.assign(input, { type: "range", min: 0, max: options.length - 1, step: 1 })
  input.setAttribute("aria-label", label)
  input.setAttribute("aria-valuetext", options[chosen])
  said.textContent = options[chosen]
  if (document.activeElement !== input || !input.matches(":active")) input.value = chosen
  input.oninput = () => { pick(Number(input.value)) }
}

function listed(group, label, options, chosen, pick) {
  const list = child(group, 0, "select")
  children(list, options, "option", say)
  list.setAttribute("aria-label", label)
  list.selectedIndex = chosen
  list.onchange = () => pick(list.selectedIndex)
}

// One of many numbers: a slider, and a field to type in.
function numbered(me, root, item, group) {
  const asked = me.option(item.name), now = Math.min(Number(asked === undefined || asked === "" ? item.usual || 0 : asked), item.options - 1)
  if (!item.asks && !(item.name in me.page.sizes)) store.adopt({ [item.name]: now })
  for (const [n, type] of ["range", "number"].entries()) {
    const field = child(group, n, "input", type)
    Object.assign(field, { type, min: 0, max: item.options - 1, step: 1, ariaLabel: item.label, title: item.help })
    if (document.activeElement !== field || type === "range") field.value = now
    const take = () => {
      const picked = Math.round(field.valueAsNumber)
      if (!(picked >= 0 && picked < item.options)) return
      me.choose(item.name, String(picked), item.asks)
      chooser(me, root, item)
    }
    field.oninput = item.asks ? null : take
    field.onchange = take
  }
}

// A box to type an option in: another message answers each letter.
export function field(me, root, item) {
  root.className = "chooser"
  const label = child(root, 0, "span", "label"), box = child(root, 1, "input", "typed")
  label.textContent = item.label
  label.title = item.help
  Object.assign(box, { type: "text", maxLength: item.most, pattern: item.pattern || ".*", placeholder: item.hint, ariaLabel: item.label, title: item.help })
  if (me.isLed || box.getRootNode().activeElement !== box) box.value = me.option(item.name) ?? ""
  box.oninput = () => { if (box.validity.valid) me.choose(item.name, box.value, true, item.anew) }
  box.onchange = () => { if (!box.validity.valid) box.value = me.option(item.name) ?? "" }
}

// Buttons of which one is chosen: one stop of Tab, and arrows go from one to the next.
export function radios(group, label, options, chosen, pick) {
  group.setAttribute("role", "radiogroup")
  group.setAttribute("aria-label", label)
  children(group, options, "button.option", (button, option, n) => {
    button.type = "button"
    button.setAttribute("role", "radio")
    say(button, option)
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
}
