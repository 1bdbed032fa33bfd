// The marks of a chapter as elements, each painted for a moment of a motion: `state.t` from 0 to 1 between two places.
import { written } from "./digits.js"
import { child, make, say } from "./nodes.js"
import { pick } from "./pick.js"
import { TOYS } from "./toys.js"

// Paints them; false where a part of it is yet to come from the server.
export function paint(ground, chapter, state) {
  if (ground.chapter !== chapter.name) {
    for (const part of ground.children) part.ends?.()
    ground.replaceChildren()
    ground.chapter = chapter.name
  }
  let isWhole = true
  chapter.marks.forEach((mark, n) => {
    const part = partOf(ground, n, mark), local = { ...state, t: during(state.t, mark.when) }
    const opacity = mix(seen(mark, state.from, state), seen(mark, state.place, state), local.t)
    if (opacity === 0 && part.gone) return
    part.gone = opacity === 0
    const css = part.gone ? "visibility: hidden" : ["left x", "top y", "width width", "height height"].map(one => one.split(" ")).map(([name, field]) => `${name}: ${length(now(mark[field], local))}`).join("; ") + `; opacity: ${opacity.toFixed(3)}`
    if (part.css !== css) part.style.cssText = part.css = css
    if (part.gone) return
    if (mark.part) part.dataset.part = mark.part
    const name = ["mark", mark.kind, mark.look && `is-${mark.look}`, mark.anchor].filter(Boolean).join(" ")
    if (part.className !== name) part.className = name
    if (mark.act) {
      const act = Object.fromEntries(Object.entries(mark.act).map(([axis, value]) => [axis, pick(value, state.place, state.me.arrays)]))
      part.type = "button"
      part.onclick = () => state.select(act)
      part.setAttribute("aria-label", now(mark.label, local) ?? "")
      part.setAttribute("aria-pressed", Object.entries(act).every(([axis, n]) => state.place[axis] === n))
    } else if (mark.label) {
      part.setAttribute("role", mark.kind === "toy" ? "group" : "img")
      part.setAttribute("aria-label", now(mark.label, local) ?? "")
    }
    if (KINDS[mark.kind](part, mark, local) === false) isWhole = false
  })
  while (ground.children.length > chapter.marks.length) {
    ground.lastChild.ends?.()
    ground.lastChild.remove()
  }
  return isWhole
}

// The element of a mark, which keeps it from message to message, and with it who types in it; another kind begins anew.
function partOf(ground, n, { act, kind, toy }) {
  const holds = `${kind} ${toy}`, before = ground.children[n]
  if (before && before.holds !== holds) {
    before.ends?.()
    before.replaceWith(make(act ? "button" : "div"))
  }
  return Object.assign(child(ground, n, act ? "button" : "div"), { holds })
}

// Whether a mark stands in a beat, and how clearly: what a beat does not name steps back.
function seen({ since = 0, until = 99, part, present = true }, place, { lit, lights, me }) {
  if (place.beat < since || place.beat >= until || !pick(present, place, me.arrays)) return 0
  const named = lit ? [lit] : lights
  return !part || !named.length || named.includes(part) ? 1 : 0.4
}

// Rows follow each other: a mark moves in a part of the motion, slowly at its ends.
const during = (t, [start, end] = [0, 1]) => {
  const own = Math.min(1, Math.max(0, (t - start) / (end - start)))
  return own < 0.5 ? 2 * own * own : 1 - 2 * (1 - own) ** 2
}

// A value now: on the way between two places numbers are mixed, and words are those of the end.
function now(value, { t, from, place, me }) {
  const end = pick(value, place, me.arrays)
  if (t >= 1 || typeof value !== "object" || end === undefined) return end
  const start = pick(value, from, me.arrays)
  return start === undefined ? end : mix(start, end, t)
}
function mix(a, b, t) {
  if (a === b) return b
  if (typeof a === "number" && typeof b === "number") return Number.isNaN(a) || Number.isNaN(b) ? b : a + t * (b - a)
  if (Array.isArray(a) && Array.isArray(b) && a.length === b.length) return b.map((end, n) => mix(a[n], end, t))
  if (a?.values && b?.values && a.values.length === b.values.length) return { ...b, values: b.values.map((end, n) => mix(a.values[n], end, t)) }
  return b
}

// Pixels, or a share of the picture's width and so many pixels.
function length(of = 0) {
  if (of === "square") return "auto; aspect-ratio: 1"
  if (typeof of === "number") return `${of}px`
  const [share, pixels] = Array.isArray(of) ? of : of.values
  return `calc(${100 * share}cqw + ${pixels}px)`
}

const KINDS = {
  box() {},
  text(part, mark, state) {
    const value = now(mark.text, state)
    if (value === undefined) return false
    const text = mark.form && typeof value === "number" ? Number.isNaN(value) ? state.me.page.words.walk.hidden : written(value, mark.form) : String(value)
    const span = child(part, 0, "span")
    say(span, text)
  },
  cells(part, mark, state) {
    const found = now(mark.values, state), top = now(mark.top, state) ?? 1
    if (found === undefined) return false
    const { values, shape } = found, columns = shape.at(-1), rows = values.length / columns
    const canvas = child(part, 0, "canvas"), isBars = mark.look === "bars", scale = devicePixelRatio || 1
    const [width, height] = isBars ? [part.clientWidth * scale, part.clientHeight * scale] : [columns, rows]
    const key = [state.colors, mark, top, width, height, ...values]
    if (part.drawn?.length === key.length && key.every((one, n) => Object.is(one, part.drawn[n]))) return
    part.drawn = key
    canvas.setAttribute("aria-hidden", "true")
    Object.assign(canvas, { width, height })
    const pen = canvas.getContext("2d")
    values.forEach((value, n) => {
      if (Number.isNaN(value)) return
      const share = Math.max(-1, Math.min(1, value / top))
      pen.fillStyle = state.colors[mark.look === "single" ? mark.part === "share" || !mark.part ? "pattern" : "accent" : value < 0 ? "negative" : "positive"]
      if (isBars) return pen.fillRect(n * width / columns + 0.5, height / 2 * (1 - Math.max(0, share)), Math.max(1, width / columns - 1), height / 2 * Math.abs(share))
      pen.globalAlpha = Math.abs(share)
      pen.fillRect(n % columns, Math.floor(n / columns), 1, 1)
    })
  },
  toy(part, mark, state) { TOYS[mark.toy](part, mark, state) },
}
