// A field to draw a small picture in: pen, keyboard, examples. What is drawn goes to Python while one draws, one message
// at a time, the newest wins; what Python says meanwhile of an earlier state never takes the pen's ink away. The field is
// as high as the bar that it stands in; large, it lies above the page, where a finger has room.
import { sign } from "./corner.js"
import { enlarging } from "./enlarging.js"
import { paint, painted } from "./ink.js"
import { make } from "./nodes.js"

const REST = 150 // ms between what the server is told
const PATIENCE = 2000 // ms after which an answer is no longer waited for
const MOST_KEPT = 50 // states that can be undone
const level = value => Math.floor((value + 8) / 17) // of sixteen, as an address keeps it
const KEYS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }

let sent = 0 // the last message of this page; the server repeats the number that it has read
let isNewStroke = true // whether the next address is one that Back leads to
watchAddress()

// One step of Back for each stroke: what follows while it is drawn takes the place of its first address.
function watchAddress() {
  if (typeof history === "undefined") return
  const push = history.pushState.bind(history)
  history.pushState = (state, unused, url) => {
    const [to, from] = [new URL(url ?? location.href, location.href), new URL(location.href)]
    const other = [to, from].map(({ pathname, searchParams }) => {
      const query = new URLSearchParams(searchParams)
      query.delete("drawing")
      query.sort()
      return `${pathname}?${query}`
    })
    const isDrawing = other[0] === other[1] && to.searchParams.get("drawing") !== from.searchParams.get("drawing")
    if (isDrawing && !isNewStroke) return history.replaceState(state, unused, url)
    if (isDrawing) isNewStroke = false
    push(state, unused, url)
  }
}

export function sketch(root, header, arrays, tell) {
  const words = JSON.stringify([header.words, header.examples])
  if (root.said !== words) root.field = build(root, header) // in another language all of it is called otherwise
  root.said = words
  root.field.update(header, arrays, tell)
}

// A button of one sign, 16 by 16, which says what it does to who does not see it.
const tool = (label, path) => make("button", { type: "button", className: "tool", title: label, "aria-label": label }, sign(path))

function build(root, { words, grid, wide, copies }) {
  const canvas = make("canvas", { className: "ink", "aria-hidden": "true" }), cursor = make("div", { className: "pen" })
  const hint = make("div", { className: "hint" }, words.hint)
  const paper = make("div", { className: "paper", tabIndex: 0, role: "application", "aria-label": words.label }, canvas, cursor, hint)
  const copy = make("canvas", { className: "ink", role: "img", "aria-label": words.reads }), lines = make("div", { className: "cut" })
  lines.style.setProperty("--rows", grid[0])
  lines.style.setProperty("--columns", grid[1])
  const seen = make("figure", {}, make("div", { className: "frame" }, copy, lines), make("figcaption", {}, words.reads))
  const undo = tool(words.undo, "M6 3 2.5 6.5 6 10M3 6.5h6.5a4 4 0 0 1 0 8H6")
  const clear = tool(words.clear, "M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.7 9h6.6l.7-9M6.7 7v4.5M9.3 7v4.5")
  const size = make("button", { type: "button", className: "tool" }), status = make("span", { className: "status", "aria-live": "polite" })
  const tools = make("div", { className: "tools" }, undo, clear, size, status)
  const shelf = make("div", { className: "shelf", role: "group", "aria-label": words.examples }), side = make("div", { className: "side" }, tools, shelf)
  // A mouse has one wheel, and there is no room for a scroll bar.
  shelf.addEventListener("wheel", event => {
    const from = shelf.scrollLeft
    shelf.scrollLeft += event.deltaX || event.deltaY
    if (shelf.scrollLeft !== from) event.preventDefault()
  }, { passive: false })
  const pad = make("div", { className: "pad" }, paper)
  const large = enlarging({ pad, paper, tools, side, size, words })
  const field = make("div", { className: "sketch" }, make("div", { className: "slot" }, pad), seen, side)
  field.style.setProperty("--wide", wide)
  field.classList.toggle("wide", wide > 1)
  if (!copies) { // the model reads just what is drawn
    seen.hidden = true
    paper.append(lines)
  }
  root.replaceChildren(field)

  let ink = new Uint8Array(), shape = [0, 0], before = [], send = () => {}
  let last = null, timer = 0, isWaiting = false, isLate = false, waiting = 0
  let at = null, isDown = false

  const show = () => {
    paint(canvas, ink, shape)
    const isBlank = !ink.some(value => value > 0)
    hint.hidden = !isBlank
    undo.disabled = !before.length
    clear.disabled = isBlank
  }
  const keep = () => {
    before = [...before.slice(1 - MOST_KEPT), ink.slice()]
    isNewStroke = true
  }
  // At most one message is under way; what was drawn meanwhile goes with the next.
  const flush = () => {
    clearTimeout(timer)
    timer = 0
    if (isWaiting) { isLate = true; return }
    isLate = false
    isWaiting = true
    clearTimeout(waiting)
    waiting = setTimeout(answered, PATIENCE)
    send({ seq: ++sent, pixels: btoa(String.fromCharCode(...ink)), shape })
  }
  const answered = () => {
    isWaiting = false
    clearTimeout(waiting)
    if (isLate) changed()
  }
  const changed = () => { timer ||= setTimeout(flush, REST) }

  // A soft pen: full ink within a pixel of its way, none beyond two.
  const stroke = (from, to) => {
    const [height, width] = shape, steps = Math.max(1, Math.ceil(4 * Math.hypot(to[0] - from[0], to[1] - from[1])))
    for (let step = 0; step <= steps; step++) {
      const x = from[0] + (to[0] - from[0]) * step / steps, y = from[1] + (to[1] - from[1]) * step / steps
      for (let r = Math.max(0, Math.floor(y - 2)); r < Math.min(height, y + 2); r++) {
        for (let c = Math.max(0, Math.floor(x - 2)); c < Math.min(width, x + 2); c++) {
          const share = 1.75 - Math.hypot(c + 0.5 - x, r + 0.5 - y)
          const value = Math.round(255 * Math.max(0, Math.min(1, share)))
          if (value > ink[r * width + c]) ink[r * width + c] = value
        }
      }
    }
    show()
    changed()
  }
  const place = event => {
    const box = canvas.getBoundingClientRect()
    return [(event.clientX - box.left) / box.width * shape[1], (event.clientY - box.top) / box.height * shape[0]]
  }
  paper.onpointerdown = event => {
    if (event.button) return
    if (event.pointerType === "touch" && !large.is()) return large.open()
    paper.setPointerCapture(event.pointerId)
    keep()
    last = place(event)
    stroke(last, last)
  }
  paper.onpointermove = event => {
    if (!last) return
    for (const one of event.getCoalescedEvents?.() ?? [event]) {
      const to = place(one)
      stroke(last, to)
      last = to
    }
  }
  paper.onpointerup = paper.onpointercancel = paper.onlostpointercapture = () => { last = null }

  const replace = values => {
    ink = values
    show()
    changed()
  }
  undo.onclick = () => {
    if (!before.length) return
    isNewStroke = true
    replace(before.pop())
    if (undo.disabled) paper.focus()
  }
  clear.onclick = () => {
    keep()
    replace(new Uint8Array(ink.length))
    paper.focus()
  }

  const mark = () => {
    cursor.hidden = !at
    if (!at) return
    cursor.style.left = `${100 * at[0] / shape[1]}%`
    cursor.style.top = `${100 * at[1] / shape[0]}%`
    cursor.classList.toggle("down", isDown)
    status.textContent = words.pen.replace("{row}", Math.floor(at[1]) + 1).replace("{column}", Math.floor(at[0]) + 1)
      .replace("{state}", isDown ? words.down : words.up)
  }
  paper.onkeydown = event => {
    if ((event.ctrlKey || event.metaKey) && event.key === "z") {
      event.preventDefault()
      return undo.click()
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const middle = [shape[1] / 2 - 0.5, shape[0] / 2 - 0.5].map(Math.floor).map(n => n + 0.5)
    if (event.key === " ") {
      event.preventDefault()
      if (event.repeat) return
      at ??= middle
      isDown = !isDown
      if (isDown) {
        keep()
        stroke(at, at)
      }
      return mark()
    }
    if (event.key === "Escape" && isDown) {
      event.stopPropagation() // the pen first, then the large field
      isDown = false
      return mark()
    }
    const step = KEYS[event.key]
    if (!step) return
    event.preventDefault()
    const from = at ?? middle
    at = [Math.min(shape[1] - 0.5, Math.max(0.5, from[0] + step[0])), Math.min(shape[0] - 0.5, Math.max(0.5, from[1] + step[1]))]
    if (isDown) stroke(from, at)
    mark()
  }
  paper.onblur = () => {
    isDown = false
    at = null
    mark()
    status.textContent = ""
  }
  mark()

  const fill = (examples, pixels) => {
    const size = shape[0] * shape[1]
    shelf.replaceChildren(...examples.map((label, n) => {
      const picture = make("canvas", { className: "ink", "aria-hidden": "true" })
      const values = Uint8Array.from(pixels.subarray(n * size, (n + 1) * size))
      painted(picture, values, shape)
      const onclick = () => {
        keep()
        replace(values.slice())
      }
      return make("button", { type: "button", className: "example", title: label, "aria-label": label, onclick }, picture)
    }))
  }

  return {
    update(header, [drawing, reads, examples], tell) {
      send = message => tell("drawn", message)
      const isFirst = !ink.length
      shape = drawing.shape
      if (isFirst) fill(header.examples, examples.values)
      if (header.seq >= sent && isWaiting) answered()
      // Another drawing than ours, and nothing of ours under way: an address, Back, an uploaded picture.
      const isOther = drawing.values.some((value, n) => level(value) !== level(ink[n]))
      if (isFirst || (isOther && header.seq >= sent && !timer && !isWaiting && !last)) {
        ink = Uint8Array.from(drawing.values)
        before = []
      }
      show()
      painted(copy, reads.values, reads.shape)
    },
  }
}
