// Search: what Python offers (viz_model/app/search.py), narrowed with each letter; "/" and Ctrl+K open it on every page.
import { child, children, make } from "./nodes.js"

const MOST = 12
const plain = text => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase()
const isTyping = event => event.composedPath()[0].closest?.("input, textarea, select, [contenteditable], [role=dialog]")

// The island that is drawn now, on whatever page.
let island = null
export const shown = root => { island = root }

// A section that was chosen is kept in sight while its page is drawn, until the visitor scrolls: the island's own, or
// one of Streamlit's below it, by its title.
const DRAWN = 3_000, EACH = 100 // ms
function keepInSight(name, title) {
  const ends = ["wheel", "pointerdown", "keydown"]
  const look = setInterval(() => {
    const own = island?.querySelector(`[data-section=${name}]`), other = [...document.querySelectorAll("summary")].find(one => one.textContent.includes(title))
    own ? own.scrollIntoView({ block: "start" }) : other?.scrollIntoView({ block: "center" }) // which knows no line above the page
  }, EACH)
  const end = () => {
    clearInterval(look)
    for (const one of ends) removeEventListener(one, end)
  }
  for (const one of ends) addEventListener(one, end)
  setTimeout(end, DRAWN)
}

// All words must stand somewhere in an entry; first come those whose name begins with what is typed, then other names.
export function matching(entries, typed) {
  const words = plain(typed).split(/\s+/u).filter(Boolean), whole = words.join(" ")
  const rank = ({ label, kind, says }) => {
    const name = plain(label), all = `${name} ${plain(kind)} ${plain(says)}`
    if (!words.every(word => all.includes(word))) return -1
    return name.startsWith(whole) ? 0 : words.every(word => name.includes(word)) ? 1 : 2
  }
  const ranked = entries.map(entry => ({ entry, rank: rank(entry) })).filter(({ rank }) => rank >= 0)
  return ranked.sort((a, b) => a.rank - b.rank).slice(0, MOST).map(({ entry }) => entry)
}

export function search(root, tell) {
  const button = child(root, 0, "button", "find"), dialog = child(root, 1, "dialog", "finder")
  const box = child(dialog, 0, "input"), list = child(dialog, 1, "ul"), nothing = child(dialog, 2, "p")
  let entries = null, found = [], at = 0
  button.type = "button"
  button.innerHTML = '<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="M10.5 10.5 14 14M12 7A5 5 0 1 1 2 7a5 5 0 0 1 10 0Z" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"/></svg>'
  list.id = "found"
  list.setAttribute("role", "listbox")
  for (const [name, value] of Object.entries({ role: "combobox", "aria-controls": "found", "aria-expanded": "true", "aria-autocomplete": "list" })) box.setAttribute(name, value)

  const mark = () => {
    ;[...list.children].forEach((row, n) => row.setAttribute("aria-selected", String(n === at)))
    list.children[at]?.scrollIntoView({ block: "nearest" })
    found.length ? box.setAttribute("aria-activedescendant", `found-${at}`) : box.removeAttribute("aria-activedescendant")
  }
  const write = () => {
    found = matching(entries ?? [], box.value)
    at = 0
    children(list, found, "li", (row, entry, n) => {
      Object.assign(row, { id: `found-${n}`, onclick: () => go(entry), onpointermove: () => { if (at !== n) { at = n; mark() } } })
      row.setAttribute("role", "option")
      row.replaceChildren(...[["b", entry.label], ["span", entry.kind], ["small", entry.says]].map(([tag, textContent]) => make(tag, { textContent })))
    })
    nothing.hidden = !entries || found.length > 0
    mark()
  }
  const go = ({ label, to }) => {
    if (!to.page) return // a term is told here
    dialog.close()
    if (to.section) setTimeout(keepInSight, EACH, to.section, label) // after the key or press that chose it
    tell("picked", { of: "search", value: to })
  }
  const open = () => {
    if (dialog.open) return
    if (!entries) tell("picked", { of: "search", value: true })
    box.value = ""
    write()
    dialog.showModal()
    box.focus()
  }
  box.oninput = write
  box.onkeydown = event => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step && found.length) at = (at + step + found.length) % found.length
    if (step) mark()
    if (event.key === "Enter" && !event.isComposing && found[at]) go(found[at])
    if (step || event.key === "Enter") event.preventDefault()
    event.stopPropagation() // what else listens for keys is behind the dialog
  }
  dialog.onclick = event => { if (event.target === dialog) dialog.close() } // beside it
  button.onclick = open
  const key = event => {
    const isAsked = event.key === "/" ? !isTyping(event) && !event.ctrlKey && !event.metaKey && !event.altKey : event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)
    if (!isAsked) return
    event.preventDefault()
    open()
  }
  document.addEventListener("keydown", key)
  return {
    take({ words, entries: given }) {
      button.title = `${words.open} (/)`
      box.placeholder = words.hint
      for (const one of [button, box, list]) one.setAttribute("aria-label", words.open)
      nothing.textContent = words.nothing
      if (JSON.stringify(given) === JSON.stringify(entries)) return
      entries = given
      if (dialog.open) write()
    },
    end() {
      document.removeEventListener("keydown", key)
      root.replaceChildren()
    },
  }
}

// On a page that is not one component.
export function alone(root, header, arrays, tell) {
  const made = search(root, tell)
  made.take(header)
  return made.end
}
