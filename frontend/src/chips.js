// Tokens as chips. Those of the sentence select the page's token; others tell the server which was picked.
import { painted } from "./ink.js"
import { make } from "./nodes.js"
import { store } from "./store.js"

// A small picture in the ink of the page; or of light, white on black.
function picture({ values, shape: [, height, width] }, n, light) {
  const canvas = make("canvas", { width, height, className: light ? "thumb light" : "thumb", "aria-hidden": "true" })
  return painted(canvas, values.subarray(n * height * width, (n + 1) * height * width), [height, width])
}

// Chips that only together spell a character stand over a bracket with it.
function together(chips, buttons) {
  const made = []
  for (let n = 0; n < buttons.length; n++) {
    const { of, to } = chips[n]
    if (!of) { made.push(buttons[n]); continue }
    made.push(make("span", { className: "cut" }, make("span", { className: "pieces" }, ...buttons.slice(n, to)), make("span", { className: "spells", "aria-hidden": "true" }, of)))
    n = to - 1
  }
  return made
}

export function chips(root, header, arrays, tell) {
  const list = make("div", { className: ["chips", header.many && "many", header.flat && "flat"].filter(Boolean).join(" "), role: "group", "aria-label": header.label })
  const pick = position => header.selects ? store.select({ token: position }) : tell("picked", position)
  // Before and after a part of a long text, a way on: to the token just beyond.
  const onward = ({ position, label }) => make("button", { type: "button", className: "end", title: label, "aria-label": label, onclick: () => pick(position) },
    position < header.first ? `‹ ${position}` : `${position} ›`)
  const buttons = header.chips.map((chip, n) => {
    const title = chip.title ?? `${header.first + n}: ${chip.label} · ${chip.under} · ${chip.bytes}${chip.differs ? ` · ${header.differs}` : ""}`
    const made = make("button", { type: "button", className: chip.differs ? "chip differs" : "chip", title, onclick: () => pick(header.first + n), ...(chip.title ? { "aria-label": title } : {}) },
      ...(chip.has_picture ? [picture(arrays[header.thumbnails?.array ?? 0], n, header.light)] : []),
      make("span", { className: chip.whole ? "text" : "text bytes" }, chip.label), make("span", { className: "id" }, chip.under))
    made.style.setProperty("--chip", chip.color)
    return made
  })
  const before = header.ends.filter(end => end.position < header.first), after = header.ends.filter(end => end.position >= header.first)
  if (header.whose) list.append(make("b", { className: "whose", "aria-hidden": "true" }, header.whose))
  list.append(...before.map(onward), ...together(header.chips, buttons), ...after.map(onward))

  const selected = () => header.selects ? Math.min(store.selection.token, header.last ?? Infinity) : header.selected
  const roving = from => buttons.forEach((button, n) => { button.tabIndex = n === from ? 0 : -1 })
  list.onkeydown = event => {
    const at = buttons.indexOf(event.target)
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key]
    if (at < 0 || to === undefined || !buttons[to]) return
    event.preventDefault()
    roving(to)
    buttons[to].focus()
  }
  const reveal = () => {
    const chip = buttons[selected() - header.first]
    if (!chip || !list.isConnected) return
    const [left, top] = [chip.offsetLeft - list.offsetLeft, chip.offsetTop - list.offsetTop]
    if (left < list.scrollLeft || left + chip.offsetWidth > list.scrollLeft + list.clientWidth) list.scrollLeft = left - list.clientWidth / 2
    if (top < list.scrollTop || top + chip.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 2
  }
  const mark = () => {
    const chosen = selected() - header.first
    buttons.forEach((button, n) => button.setAttribute("aria-pressed", String(n === chosen)))
    roving(buttons[chosen] ? chosen : 0)
    // With the next picture: places asked for now would have the browser lay out the page once more.
    requestAnimationFrame(reveal)
  }
  const focused = [...root.querySelectorAll(".chip")].indexOf(root.getRootNode().activeElement)
  root.replaceChildren(list)
  // Noted as it happens, and gone to with the next picture: here the browser would lay out a page that is being made.
  const { x, y } = root.scrolled ?? { x: 0, y: 0 }
  if (x || y) requestAnimationFrame(() => Object.assign(list, { scrollLeft: x, scrollTop: y }))
  list.onscroll = () => { root.scrolled = { x: list.scrollLeft, y: list.scrollTop } }
  buttons[focused]?.focus()
  mark()
  // Where its style sheet comes later than the first frame, or the screen is turned, the tokens move.
  const resized = new ResizeObserver(reveal)
  resized.observe(list)
  const forget = header.selects ? store.subscribe(changed => changed.includes("token") && mark()) : () => {}
  return () => {
    resized.disconnect()
    forget()
  }
}
