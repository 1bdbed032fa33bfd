// By a projector: one picture at a time, as large as the screen has room for, with the sentences that stand with it.
// What a page draws (viz_model/app/topic.py) stays in its place; all but the picture whose turn it is is hidden.
import { CHANGED, draw, scenes } from "./scene.js"

const HOME = ".st-key-present_slides"
const KEPT = "[class*=st-key-present_slide_]" // what is shown as a picture is, and is none
const [FLAT, LEAST, MOST, TIGHT] = [0.1, 0.6, 1.5, 0.75] // of the height that a picture was drawn with; flatter it is never made, where there is no room at all
const EDGE = 6 // pixels below a picture
const TURNS = { PageUp: -1, PageDown: 1 } // which is what a presenter's remote sends
const HEADING = "h2, h3, h4, h5"
const PROSE = "[data-testid=stMarkdown] p, [data-testid=stMarkdown] :is(h2, h3, h4, h5), [data-testid=stHeading] :is(h2, h3, h4, h5)"
const COVERED = "[data-said-over] > :not(.viz-said)" // by what is said of another selection (prose.js)
const ASIDE = "[data-testid=stCaptionContainer], [data-testid=stWidgetLabel], [data-testid=stExpander], button, table, [class*=st-key-present_slide_]"

export function slides(root, header) {
  const made = root.slides = root.slides ?? build(root)
  Object.assign(made, { words: header.words, page: header.page })
  if (made.of !== header.id) Object.assign(made, { of: header.id, turn: 0 })
  made.sheet = document.head.appendChild(document.createElement("style"))
  let asked = 0
  const again = () => {
    cancelAnimationFrame(asked)
    asked = requestAnimationFrame(() => show(made))
  }
  const home = document.querySelector(HOME)
  const observer = new MutationObserver(again)
  if (home) observer.observe(home, { childList: true, subtree: true, characterData: true })
  const anew = () => {
    for (const scene of scenes) scene.panels = null
    again()
  }
  const resized = new ResizeObserver(again)
  resized.observe(root)
  document.addEventListener(CHANGED, again)
  addEventListener("resize", anew)
  const key = event => {
    const by = TURNS[event.key]
    if (!by || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.composedPath()[0].closest?.("[role=dialog]")) return
    event.preventDefault()
    turn(made, by)
  }
  document.addEventListener("keydown", key)
  again()
  return () => {
    cancelAnimationFrame(asked)
    observer.disconnect()
    resized.disconnect()
    document.removeEventListener(CHANGED, again)
    removeEventListener("resize", anew)
    document.removeEventListener("keydown", key)
    made.sheet.remove()
  }
}

function build(root) {
  const element = (tag, className) => Object.assign(document.createElement(tag), { className })
  const made = { root, heading: element("h2", "heading"), said: element("p", "said"), count: element("span", "count") }
  const words = element("div", "words"), turns = element("div", "turns")
  const button = (sign, by) => Object.assign(element("button", by < 0 ? "back" : "on"), { type: "button", textContent: sign, onclick: () => turn(made, by) })
  Object.assign(made, { turns, back: button("‹", -1), on: button("›", 1) })
  made.count.setAttribute("aria-live", "polite")
  words.append(made.heading, made.said)
  turns.append(made.back, made.count, made.on)
  root.replaceChildren(words, turns)
  return made
}

function turn(made, by) {
  const to = made.turn + by
  if (to < 0 || to >= made.all) return
  made.turn = to
  show(made)
}

const hostOf = root => root.getRootNode().host ?? root
const keyOf = element => element.className.match(/st-key-[^\s]+/)[0]
const follows = (first, second) => first.compareDocumentPosition(second) & Node.DOCUMENT_POSITION_FOLLOWING

// What is shown in turn: pictures that stand beside each other together, all others one by one.
function found(home) {
  const pictures = [...scenes].map(root => ({ root, element: hostOf(root).closest("[data-testid=stElementContainer][class*=st-key-]") }))
  const kept = [...home.querySelectorAll(KEPT)].map(element => ({ root: null, element }))
  const all = [...pictures, ...kept].filter(({ element }) => element && home.contains(element))
  all.sort((one, other) => follows(one.element, other.element) ? -1 : 1)
  const groups = []
  for (const one of all) {
    const last = groups.at(-1), column = one.element.closest("[data-testid=stColumn]"), row = column?.parentElement
    const isBeside = last && row && last.row === row && !last.columns.includes(column) && last.members.length === last.columns.length
    if (isBeside) {
      last.members.push(one)
      last.columns.push(column)
    } else groups.push({ members: [one], row, columns: [column] })
  }
  return groups.map(({ members }) => members)
}

// The heading and the first sentences that belong to a picture: those before it, or else those after it.
function told(home, groups, n) {
  const prose = [...home.querySelectorAll(PROSE)].filter(element => !element.closest(ASIDE) && !element.closest(COVERED) && element.textContent.trim())
  const first = groups[n][0].element, before = groups[n - 1]?.at(-1).element, after = groups[n + 1]?.[0].element
  const isHeading = p => p.matches(HEADING) || (p.children.length === 1 && p.firstElementChild.matches("strong") && p.textContent === p.firstElementChild.textContent)
  const own = prose.filter(p => (!before || follows(before, p)) && (!after || follows(p, after)) && !first.contains(p))
  const above = own.filter(p => follows(p, first)), below = own.filter(p => follows(first, p))
  const isBeside = p => p.closest("[data-testid=stHorizontalBlock]")?.contains(first)
  const heading = above.findLast(isHeading) ?? below.slice(0, 1).find(p => isHeading(p) && isBeside(p))
  const others = below.filter(p => p !== heading), end = others.findIndex(isHeading), beside = end < 0 ? others : others.slice(0, end)
  const from = above.slice(above.indexOf(heading) + 1)
  return { heading, said: from.find(p => !isHeading(p)) ?? beside.find(p => !isHeading(p)) }
}

// Its words, without what Streamlit adds to a heading.
export function copy(into, from, otherwise = "") {
  const copied = from?.cloneNode(true) ?? Object.assign(document.createElement("p"), { textContent: otherwise })
  for (const added of copied.querySelectorAll("svg, a:not([href^=http]), [data-testid=stHeaderActionElements]")) added.remove()
  if (into.innerHTML !== copied.innerHTML) into.replaceChildren(...copied.childNodes)
  into.hidden = !into.textContent
}

// Which of how many is shown, and whether there is another before and after it.
export function count(made, words) {
  made.count.textContent = words.count.replace("{n}", made.turn + 1).replace("{all}", made.all)
  for (const [button, name, isOver] of [[made.back, words.back, made.turn === 0], [made.on, words.on, made.turn === made.all - 1]]) {
    button.title = name
    button.setAttribute("aria-label", name)
    button.disabled = isOver
  }
}

function show(made) {
  const home = document.querySelector(HOME)
  if (!home) return
  const groups = found(home), parts = groups.flatMap((group, n) => (rowsOf(made, group) ?? [null]).map(part => ({ group, n, part })))
  made.all = parts.length
  made.turn = Math.max(0, Math.min(made.turn, parts.length - 1))
  const { words, turns } = made, now = parts[made.turn]
  turns.hidden = parts.length < 2
  count(made, words)
  if (!now) {
    hide(made, ".none")
    copy(made.heading, null, made.page)
    return copy(made.said, null, words.nothing)
  }
  const { heading, said } = told(home, groups, now.n)
  hide(made, now.group.map(({ element }) => `.${keyOf(element)}`).join(", "))
  copy(made.heading, heading, made.page)
  copy(made.said, said)
  const least = fit(now)
  if (least < TIGHT && said) {
    copy(made.said, null)
    fit(now)
  }
}

function hide(made, shown) {
  const rule = `${HOME} :is([data-testid=stElementContainer], [data-testid=stLayoutWrapper], [data-testid=stColumn]):not(:is(${shown}), :is(${shown}) *, :has(:is(${shown}))) { display: none !important }`
  if (made.sheet.textContent !== rule) made.sheet.textContent = rule
}

// Where a picture's panels stand in rows that are too high for one screen together, they have turns of their own.
export function rowsOf(made, group) {
  const [{ root }] = group
  if (group.length > 1 || !root?.scene) return null
  const { scene } = root
  if (!root.panels && root.clientWidth) {
    const panels = scene.present ?? [], tops = [...new Set(panels.map(({ box }) => box.offsetTop))]
    const rows = tops.map(top => panels.filter(({ box }) => box.offsetTop === top).map(({ data }) => data.id))
    root.rows = rows.length > 1 && root.clientHeight * LEAST > room(root) ? rows : null
  }
  return root.rows?.length > 1 ? root.rows : null
}

// Of the page's own pixels, which the projector's type enlarges.
function room(root) {
  const rect = root.getBoundingClientRect(), zoom = rect.width / root.offsetWidth || 1
  return (innerHeight - rect.top) / zoom - EDGE
}

// Says how tall the flattest of them is, of what it was drawn with. Measured again a moment later: what stands above may
// still have been on its way.
export function fit({ group, part }, again = false) {
  let least = MOST
  if (!again) setTimeout(() => fit({ group, part }, true), 400)
  for (const { root } of group) {
    root?.plot?.fit(room(root))
    if (!root?.scene || !root.clientWidth) continue
    const { scene } = root
    const isOther = root.panels?.join() !== part?.join()
    if (again && isOther) continue // another is shown by now
    root.panels = part
    if (isOther) draw(scene, false)
    const panels = scene.present ?? [], tall = root.tall ?? 1
    const rows = new Map()
    for (const { box } of panels) rows.set(box.offsetTop, Math.max(rows.get(box.offsetTop) ?? 0, box.offsetHeight))
    const drawn = [...rows.values()].reduce((sum, height) => sum + height, 0)
    if (!drawn) continue
    const fixed = root.offsetHeight - drawn, wanted = Math.max(FLAT, Math.min(MOST, (room(root) - fixed) / (drawn / tall)))
    least = Math.min(least, wanted)
    if (wanted === FLAT && root.isConnected) setTimeout(() => fit({ group, part }, true), 400)
    if (Math.abs(wanted - tall) < 0.005) continue
    root.tall = wanted
    draw(scene, false)
  }
  return least
}
