// A page as one island. In comes one message (viz_model/island/message.py): the sentence as tokens, pictures, texts and
// all that they hold by layer, head and token. What a visitor selects is answered here, from what is here; the server is
// told what the address should say once the visitor rests, and what is typed as it is typed.
import { dressed, speak, walking } from "./bridge.js"
import { buttons } from "./buttons.js"
import { beside, compare } from "./beside.js"
import { chips } from "./chips.js"
import { chooser, field } from "./chooser.js"
import { saver } from "./corner.js"
import { head } from "./head.js"
import { give } from "./heads.js"
import { filled, lines, write } from "./lines.js"
import { child, children, make } from "./nodes.js"
import { parts as twoModels } from "./parts.js"
import { pick } from "./pick.js"
import { plot } from "./plot.js"
import { quiz } from "./quiz.js"
import { reach, reachScrolling } from "./reach.js"
import { isRunning } from "./running.js"
import { scene } from "./scene.js"
import { shown } from "./search.js"
import { skip } from "./skip.js"
import { store } from "./store.js"
import { terms } from "./terms.js"
import { tree } from "./tree.js"
import { turns } from "./turns.js"
import { walk } from "./walk.js"

const REST = 500 // ms after the last click or letter until the address is written
const LOST = 3_000 // ms after which a question that nobody works on is asked again: what is sent as a connection breaks is lost

// A page that goes may be drawn once more after the one that takes its place: it has no say any more.
let current = null
const isGoing = root => root !== current && !!root.getRootNode().host?.closest("[data-stale=true]")

export function island(root, header, arrays, tell) {
  if (!isGoing(root)) {
    current = root
    root.island ??= create(root)
    root.island.take(header, arrays, tell)
  }
  return () => {
    root.island?.leave()
    delete root.island // what is mounted in the same place again begins anew
  }
}

island.stays = true // what it listens to is its own, whatever message comes

function create(root) {
  let page = null, arrays = [], tell = null, nav = null, sent = 0, answered = 0, timer = 0, rests = 0, isLate = false, asked = 0, latest = ""
  let chosen = {}, typed = {}, options = {}, opened = new Set()
  const [top, body, end, glossary] = ["head", "body", "body end", "viz viz-terms"].map(className => make("div", { className }))
  root.replaceChildren(top, body, end, glossary)
  const unreach = reach() // of what is Streamlit's below the page
  const sized = new ResizeObserver(() => reachScrolling(root)) // formulas are set, and windows narrowed, after it is drawn
  sized.observe(root)

  const said = () => ({ seq: sent, nav, ...typed, place: chosen, options, open: [...opened] })
  // One question is under way at a time: no answer is older than what is asked next. None is asked twice in a row, as by
  // Enter after letters that were answered as they came.
  const ask = () => {
    isLate = sent > answered
    if (isLate || question() === latest) return
    sent++
    put()
  }
  const question = () => JSON.stringify({ ...said(), seq: 0 })
  // What stood here until it is mounted anew hears clicks for a moment more, and never an answer.
  const isLeft = () => root.island !== me
  const put = () => {
    if (isLeft()) return
    asked = performance.now()
    latest = question()
    tell("told", { ...said(), rests: 0, asked }, true)
  }
  const rest = () => {
    clearTimeout(timer)
    if (isLeft()) return
    root.dataset.untold = "" // for tests: the address does not say yet what is shown
    timer = setTimeout(() => {
      if (sent > answered) {
        if (performance.now() - asked > LOST && !isRunning()) put()
        return rest()
      }
      delete root.dataset.untold
      tell("told", { ...said(), rests: ++rests }, true)
    }, REST)
  }

  const me = {
    get page() { return page },
    get arrays() { return arrays },
    get sizes() { return page.sides[0] },
    get place() { return store.within(this.sizes) },
    get typed() { return typed },
    tell: (name, value) => tell(name, value),
    ask,
    rescan: () => glossary.rescan?.(),
    // What is typed: `isLive` is answered letter by letter, else with Enter.
    type(words, isLive, isExample = false) {
      typed = { ...typed, ...words }
      if (isExample || page.renews) chosen = Object.fromEntries(Object.entries(chosen).filter(([name]) => name !== "token"))
      if (isLive) ask()
      rest()
    },
    // An option is an entry of tables that are here, or it asks for another message.
    choose(name, option, asks, anew = []) {
      if (name in page.sizes) return store.select({ [name]: Number(option) })
      options = { ...options, ...Object.fromEntries(anew.map(one => [one, ""])), [name]: option }
      if (asks) ask()
      rest()
    },
    // What a mark stands for: layer, head, token, and options by their names.
    knows: wanted => wanted !== null && typeof wanted === "object" && Object.keys(wanted).every(name => name in page.sizes || name in options),
    pick(wanted) {
      const [places, others] = [true, false].map(isPlace => Object.entries(wanted).filter(([name]) => name in page.sizes === isPlace))
      for (const [name, value] of others) options = { ...options, [name]: String(value) }
      store.select(Object.fromEntries(places))
      if (others.length) ask()
      rest()
    },
    option: name => name in page.sizes ? String(store.selection[name]) : options[name],
    open(name, isOpen) {
      if (opened.has(name) === isOpen) return
      isOpen ? opened.add(name) : opened.delete(name)
      if (isOpen) ask()
      rest()
    },
    isOpen: name => opened.has(name),
    hasChosen: name => name in chosen,
    parts(root, items) { parts(this, root, items) },
    leave() {
      forget()
      unsubscribe()
      sized.disconnect()
      unreach()
      undress()
      unwalk()
      removeEventListener("popstate", forget)
      for (const one of root.querySelectorAll(".viz")) one.ends?.()
      root.querySelector(".search")?.search?.end()
    },
    take(header, numbers, told) {
      const isNew = page === null
      tell = told
      const isAnew = header.seq < answered // the server began anew, and knows the address alone
      answered = header.seq
      page = header
      arrays = numbers
      if (isNew) subscribe()
      speak(header.language)
      unwalk()
      if (header.present && !header.renews) unwalk = walking(header.sizes)
      me.isLed = header.nav !== nav || isAnew
      if (me.isLed) { // an address, another page: the one case in which the server says where to look
        nav = header.nav
        chosen = { ...header.chosen }
        options = { ...header.options }
        opened = new Set(header.open)
        typed = {}
        sent = isAnew ? answered : Math.max(sent, answered) // what is under way is answered, too
      }
      if (isLate) ask() // what was typed since; this answer is shown meanwhile
      const now = { ...header.usual, ...chosen }
      for (const axis in header.sizes) now[axis] = Math.min(now[axis], header.sizes[axis] - 1)
      isTaking = true
      store.adopt(now)
      last = store.selection
      draw()
      isTaking = false
      glossary.rescan?.()
      root.dataset.still = `${header.seq}` // for tests: which question this answers
      requestAnimationFrame(() => requestAnimationFrame(taken)) // once its pictures have their heights
    },
  }

  // What keeps the page's place free until it stands there lets go.
  const taken = () => root.getRootNode().host?.closest(".st-key-frame_island")?.setAttribute("data-drawn", "")
  let unsubscribe = () => {}, unwalk = () => {}
  const undress = dressed()
  function subscribe() {
    const selected = store.subscribe(changed => {
      if (isTaking) return
      const story = root.querySelector(".walk")?.walk, before = story && last
      last = store.selection
      const kept = store.named(changed)
      chosen = { ...chosen, ...Object.fromEntries(kept.filter(name => name in page.usual).map(name => [name, store.selection[name]])) }
      follow(root)
      compare(me, root)
      story?.selected(before)
      glossary.rescan?.()
      turns(me, root, body)
      // What is too large for one message is here for some layers and tokens alone: the others are asked for, once every
      // picture has been told, those too that came later than the page.
      queueMicrotask(() => { if (isLacking()) ask() })
      rest()
    })
    addEventListener("popstate", forget)
    unsubscribe = selected
  }
  let isTaking = false, last = store.selection
  const isLacking = () => {
    const [from, to] = page.layers, { layer } = store.selection
    return layer < from || layer >= to || !!root.querySelector("[data-waiting]")
  }
  const forget = () => { // after Back the server reads the address, and tells what it says
    clearTimeout(timer)
    delete root.dataset.untold
  }

  function draw() {
    if (page.heads) give({ ...page.heads, palette: page.palette }, arrays)
    head(me, top)
    parts(me, body, page.items)
    parts(me, end, page.end)
    compare(me, root)
    skip(root, { label: page.words.skip }, [], null, () => root.querySelector("h1:not([hidden])") ?? root.querySelector(".sentence"))
    if (page.terms && glossary.of !== page.language) {
      glossary.of = page.language
      glossary.ends?.()
      glossary.ends = terms(glossary, page.terms, root)
    }
    reachScrolling(root)
    turns(me, root, body)
    shown(root)
  }
  return me
}

const KINDS = {
  scene(me, root, item) {
    root.ends?.()
    root.className = "viz viz-scene"
    root.ends = scene(root, { ...item, palette: me.page.palette, sizes: me.sizes, is_beside: me.isBeside }, me.arrays, (name, value) => {
      const wanted = item.option ? { [item.option]: value } : value
      name === "picked" && me.knows(wanted) ? me.pick(wanted) : me.tell(name, { of: item.id, value })
    })
  },
  row(me, root, item) {
    root.className = item.sides ? "row sides" : "row"
    root.style.setProperty("--shares", item.shares.map(share => `minmax(0, ${share}fr)`).join(" "))
    children(root, item.columns, "div.column", (place, column, n) => (item.sides && n ? beside(me) : me).parts(place, column))
  },
  section(me, root, item) {
    root.className = "section"
    const details = child(root, 0, "details"), summary = child(details, 0, "summary"), inside = child(details, 1, "div", "inside")
    const title = child(summary, 0, "b"), line = child(summary, 1, "span")
    title.textContent = item.title
    line.textContent = ` · ${item.line}`
    details.open = me.isOpen(item.name)
    details.dataset.section = item.name
    details.ontoggle = () => me.open(item.name, details.open)
    inside.toggleAttribute("aria-busy", details.open && !item.items)
    me.parts(inside, details.open ? item.items ?? [] : []) // a file has those of closed ones too
  },
  ribbon(me, root, item) {
    const shown = { ...item, selected: pick(item.selected, me.place, me.arrays) ?? -1 }, now = JSON.stringify(shown)
    if (root.now === now) return
    root.ends?.()
    Object.assign(root, { now, className: "viz viz-chips ribbon" })
    root.ends = chips(root, shown, me.arrays, (_, n) => item.option && me.choose(item.option, item.at ? `${me.place[item.at]}.${n}` : String(n), true))
  },
  // What a visitor may like to see, on a button: the server is told what of the view it changes.
  offer(me, root, item) {
    root.className = "offer"
    root.hidden = !pick(item.present, me.place, me.arrays)
    const said = child(root, 0, "div"), button = child(root, 1, "button")
    write(said, filled(item.said, me) ?? "")
    Object.assign(button, { type: "button", textContent: item.label })
    button.onclick = () => me.tell("picked", { of: "view", value: Object.fromEntries(Object.entries(item.change).map(([name, one]) => [name, pick(one, me.place, me.arrays)])) })
  },
  // The page itself, which has no picture in whose corner a menu could stand.
  saver(me, root, { id, label }) {
    Object.assign(root, { className: "saver", corner: root })
    saver(root, label, label, () => me.tell("menu", { of: id }))
  },
  parts(me, root, item) {
    root.className = "viz viz-parts"
    twoModels(root, item, me.arrays, (_, page) => me.tell("picked", { of: item.id, value: { page } }))
  },
  tree(me, root, item) {
    const now = JSON.stringify(item)
    if (root.now === now) return // what is unfolded stays so
    Object.assign(root, { now, className: "viz viz-tree" })
    tree(root, item)
  },
  prose: lines,
  buttons,
  chooser,
  field,
  plot,
  quiz,
  walk,
}

// The parts of a place in order, each in an element that it keeps while it is the same thing.
function parts(me, root, items) {
  items.forEach((item, n) => part(me, root, item, n))
  while (root.children.length > items.length) {
    for (const one of [root.lastChild, ...root.lastChild.querySelectorAll(".viz")]) one.ends?.()
    root.lastChild.remove()
  }
}

function part(me, root, item, n) {
  const name = `${item.kind} ${item.id ?? item.name ?? ""}`
  let place = root.children[n]
  if (place?.holds !== name) {
    const made = make("div")
    made.holds = name // not "part", which every element has as a list of its own
    if (place) {
      for (const one of [place, ...place.querySelectorAll(".viz")]) one.ends?.()
      place.replaceWith(made)
    } else root.append(made)
    place = made
  }
  Object.assign(place, { item, me })
  KINDS[item.kind](me, place, item)
}

// What was selected changes: pictures see it themselves, everything else is written here.
function follow(root) {
  for (const place of root.querySelectorAll(".prose, .chooser, .quiz, .offer, .ribbon, .buttons")) if (place.item) KINDS[place.item.kind](place.me, place, place.item)
}
