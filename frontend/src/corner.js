// What stands in the corner of a picture: its numbers as tables, and the menu to save it.
import { make, say } from "./nodes.js"
import { hasTables, openNumbers } from "./tables.js"

const SVG = "http://www.w3.org/2000/svg"
const TRAY = "M8 2v8M4.8 7 8 10.2 11.2 7M2.5 11.5V13a1 1 0 0 0 1 1h9a1 1 0 0 0 1-1v-1.5" // an arrow onto it
const LONGEST = 20000 // ms until a menu that was asked for is no longer expected

// After the picture in the order of the keyboard. Words that are not given have no button: a file has no menu.
export function corner(root, made) {
  const words = made.at(made.header.words), title = made.at(made.header.title)
  made.corner ??= make("div", { className: "corner" })
  if (made.corner.parentNode !== root) root.append(made.corner)
  root.classList.add("cornered")
  const numbers = offered(made, "numbers", words.open && hasTables(made) && `${words.open}: ${title}`, () => openNumbers(root, made, words))
  if (numbers) say(numbers, words.open)
  saver(made, words.menu && `${words.menu}: ${title}`, words.menu, () => made.tell("menu", {}))
}

// The button that asks for a menu to save something.
export function saver(made, label, title, act) {
  const menu = offered(made, "menu", label, () => {
    act()
    keep(made.corner.querySelector(".figure-menu"))
  })
  if (menu && !menu.firstChild) menu.append(sign(TRAY))
  if (menu) menu.title = title
}

// The menu is a dialog of the page, which gives the focus back to what had it, but does not see what has it within a
// picture. While a file is made its button is disabled and loses the focus: Escape would find no dialog then, nor in the
// frame in which the dialog is given it.
function keep(button) {
  const find = () => document.querySelector("[role=dialog]"), leave = new AbortController()
  let isOpen = false
  const watcher = new MutationObserver(() => {
    if (find()) isOpen = true
    else if (isOpen) {
      end()
      button.focus()
    }
  })
  const lost = () => requestAnimationFrame(() => document.activeElement === document.body && find()?.focus())
  const escape = ({ key, target }) => {
    if (key === "Escape" && target === document.body) find()?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }))
  }
  const end = () => {
    watcher.disconnect()
    leave.abort()
  }
  watcher.observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] })
  document.addEventListener("focusout", lost, { signal: leave.signal })
  document.addEventListener("keydown", escape, { signal: leave.signal })
  setTimeout(() => isOpen || end(), LONGEST)
}

// A sign of 16 by 16 pixels, in one line.
export function sign(path) {
  const drawn = document.createElementNS(SVG, "svg"), line = document.createElementNS(SVG, "path")
  for (const [name, value] of Object.entries({ viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" })) drawn.setAttribute(name, value)
  line.setAttribute("d", path)
  drawn.append(line)
  return drawn
}

function offered({ corner }, name, label, act) {
  const known = corner.querySelector(`.figure-${name}`)
  if (!label) return void known?.remove()
  const button = known ?? make("button", { className: `figure-${name}`, type: "button", "aria-haspopup": "dialog" })
  if (!known) corner[name === "numbers" ? "prepend" : "append"](button)
  button.setAttribute("aria-label", label)
  button.onclick = act
  return button
}
