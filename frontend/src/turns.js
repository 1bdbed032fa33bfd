// An island by a projector: what stands on it one picture, or one row of pictures, at a time, with its sentences.
import { child, make } from "./nodes.js"
import { draw } from "./scene.js"
import { copy, count, fit, rowsOf } from "./slides.js"

const KEYS = { PageUp: -1, PageDown: 1 } // which is what a presenter's remote sends
const HEADINGS = ".prose :is(h2, h3)"
const PICTURE = ":is(.viz-scene, .viz-plot)"
const FIRST = ":not(.sides > :nth-child(even) *)" // of two texts side by side

export function turns(me, root, body) {
  const { present } = me.page
  root.classList.toggle("presents", !!present && !me.page.renews)
  if (!present || me.page.renews) return
  const made = body.turns ??= build(root, body) // what is mounted anew has another
  made.words = present
  requestAnimationFrame(() => show(made))
}

function build(root, body) {
  const bar = make("div", { className: "viz-slides" }), made = { root, body, turn: 0 }
  const words = child(bar, 0, "div", "words"), turns = child(bar, 1, "div", "turns")
  Object.assign(made, { heading: child(words, 0, "h2", "heading"), said: child(words, 1, "p", "said") })
  const button = (n, sign, by) => Object.assign(child(turns, n, "button", by < 0 ? "back" : "on"), { type: "button", textContent: sign, onclick: () => turn(made, by) })
  Object.assign(made, { bar: turns, back: button(0, "‹", -1), count: child(turns, 1, "span", "count"), on: button(2, "›", 1) })
  made.count.setAttribute("aria-live", "polite")
  body.before(bar)
  const key = event => {
    const by = KEYS[event.key]
    if (!body.isConnected) return document.removeEventListener("keydown", key)
    if (!by || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    turn(made, by)
  }
  document.addEventListener("keydown", key)
  new ResizeObserver(() => body.isConnected && show(made)).observe(root)
  return made
}

function turn(made, by) {
  if (made.turn + by < 0 || made.turn + by >= made.all) return
  made.turn += by
  show(made)
}

// Pictures that stand beside each other have their turn together, those below each other in a column one by one; before
// them the code above them, which is a turn without a picture.
function groupsOf(part) {
  if (part.matches(PICTURE)) return [[part]]
  const columns = [...part.children].map(column => [...column.querySelectorAll(PICTURE)])
  if (!part.matches(".row")) return [columns.flat()]
  const drawn = Array.from({ length: Math.max(...columns.map(({ length }) => length)) }, (_, n) => columns.flatMap(column => column[n] ?? []))
  return part.querySelector("pre") ? [[], ...drawn] : drawn
}

function show(made) {
  const { body, words, bar } = made
  // What stands behind a section's title is not shown.
  const groups = [...body.children].filter(part => !part.matches(".section") && (part.matches(PICTURE) || part.querySelector(`${PICTURE}, pre`)))
  const shown = groups.flatMap(part => groupsOf(part).flatMap(scenes => {
    const group = scenes.map(root => ({ root }))
    // How many rows a picture has is seen once it stands there.
    const isMeasured = scenes[0]?.measured === made.root.clientWidth
    return ((isMeasured && rowsOf(made, group)) || [null]).map(rows => ({ part, group, rows }))
  }))
  made.all = shown.length
  made.turn = Math.max(0, Math.min(made.turn, shown.length - 1))
  const now = shown[made.turn]
  bar.hidden = shown.length < 2
  count(made, words)
  for (const part of body.children) {
    part.classList.toggle("now", part === now?.part)
    part.classList.toggle("codes", part === now?.part && !now.group.length)
  }
  for (const root of now?.part.querySelectorAll(PICTURE) ?? []) root.toggleAttribute("data-aside", !now.group.some(one => one.root === root))
  if (!now) {
    copy(made.heading, null, words.page)
    return copy(made.said, null, words.nothing)
  }
  // Its own heading, or the one that stands before it, and the first sentence after that.
  const picture = now.group[0]?.root
  const isBelow = heading => !!picture && heading.closest(".column") === picture.closest(".column") && picture.compareDocumentPosition(heading) & Node.DOCUMENT_POSITION_FOLLOWING
  const before = [], own = [...now.part.querySelectorAll(HEADINGS)].filter(heading => !isBelow(heading))
  for (let part = now.part.previousElementSibling; part && !groups.includes(part); part = part.previousElementSibling) before.unshift(part)
  const heading = own[0] ?? before.flatMap(part => [...part.querySelectorAll(`:is(h2, h3)${FIRST}`)]).at(-1)
  const said = [now.part, ...before.reverse()].flatMap(part => [...part.querySelectorAll(".prose .text p")]).find(p => p.textContent.trim())
  copy(made.heading, heading, words.page)
  copy(made.said, said)
  if (!now.group.length) return
  if (now.group[0].root.measured !== made.root.clientWidth) return measure(made, now)
  fit({ group: now.group, part: now.rows })
}

// Once the picture is as wide as it gets.
function measure(made, { group }) {
  requestAnimationFrame(() => requestAnimationFrame(() => {
    for (const { root } of group) Object.assign(root, { measured: made.root.clientWidth, panels: null, rows: null, tall: 1 })
    for (const { root } of group) if (root.scene) draw(root.scene, false)
    show(made)
  }))
}

