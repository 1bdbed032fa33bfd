// Sentences beside pictures: HTML that the server made, with places for words. What fills them is text, never HTML.
import { child, make } from "./nodes.js"
import { pick } from "./pick.js"
import { set } from "./formulas.js"

const TAGS = { title: "h2", part: "h3", answer: "details" }
const ESCAPED = { "&": "&amp;", "<": "&lt;", ">": "&gt;" }
const escaped = text => String(text).replace(/[&<>]/g, one => ESCAPED[one])
const PLACE = /\{\{(\w+)\}\}/g

// A text with its places filled; a name that stands there to the letter is code. Undefined where the server has yet to
// send a part of it.
export function filled({ html, values }, me) {
  const template = pick(html, me.place, me.arrays)
  let isWhole = template !== undefined
  const said = template?.replace(PLACE, (whole, name) => {
    if (!values || !(name in values)) return whole
    const value = pick(values[name], me.place, me.arrays), all = Array.isArray(value) ? value : [value]
    isWhole &&= value !== undefined
    return all.map(one => values[name].code ? `<code>${escaped(one)}</code>` : escaped(one)).join(values[name].between ?? " · ")
  })
  return isWhole ? said : undefined
}

export function lines(me, root, item) {
  root.className = "prose"
  item.lines.forEach((line, n) => {
    const element = child(root, n, TAGS[line.what] ?? "div")
    element.className = line.what
    const said = line.unless && me.hasChosen(line.unless) ? "" : filled(line, me)
    element.toggleAttribute("data-waiting", said === undefined)
    if (said === undefined) return // what stood there stays, faint, until the answer comes
    write(element, said && line.what === "answer" ? `<summary>${me.page.words.answer}</summary>${said}` : TAGS[line.what] ? said.replace(/^<p>|<\/p>$/g, "") : said)
    if (line.help) explain(element, pick(line.help, me.place, me.arrays))
  })
  while (root.children.length > item.lines.length) root.lastChild.remove()
}

// More about a line, by pointer and by keyboard.
function explain(element, words) {
  const last = element.lastElementChild?.localName === "p" ? element.lastElementChild : element
  const sign = last.querySelector(":scope > .help") ?? last.appendChild(make("span", { className: "help", tabIndex: 0, role: "note" }, "?"))
  if (sign.dataset.words === words) return
  sign.dataset.words = words
  sign.setAttribute("aria-label", words)
}

// Only what differs: what stands there already has the browser do nothing.
export function write(element, html) {
  if (element.said === html) return
  element.said = html
  element.hidden = !html
  element.innerHTML = html
  set(element)
}
