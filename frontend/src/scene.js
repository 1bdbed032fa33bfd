// A scene: panels that flow like words, each with cells on a canvas and everything else in SVG over it.
import { measure } from "./cases.js"
import { paintCells } from "./cells.js"
import { corner } from "./corner.js"
import { standing } from "./items.js"
import { keys } from "./keys.js"
import { axesOf, heldBy, pick } from "./pick.js"
import { write } from "./marks.js"
import { make } from "./nodes.js"
import { store } from "./store.js"
import { seat, targets } from "./targets.js"
import { palette, watched } from "./theme.js"

const MOVE = 250 // ms from the old values to the new
const SVG = "http://www.w3.org/2000/svg"
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches

export function scene(root, header, arrays, tell) {
  const known = root.scene?.id === header.id ? root.scene : null
  const made = root.scene = known ?? build(root, header.id)
  Object.assign(made, { header, arrays, tell })
  made.panels = panelsOf(made)
  arrange(made)
  // Numbers that are the same picture, only for other selections, are no new values: nothing moves.
  const moves = !!known && made.shown === store.selection && !still()
  // What stands there is as wide as it was, or the observer tells before anything is seen; so it does of what is new.
  if (known) draw(made, moves, false)

  // A selection leaves pictures as wide as they are: asking how wide would lay out the page once for each of them.
  const unsubscribe = store.subscribe(() => draw(made, false, false))
  const unwatch = watched(() => draw(made, false))
  const observer = new ResizeObserver(() => {
    made.wide = made.flow.clientWidth
    arrange(made)
    if (made.panels.every(panel => panel.box.clientWidth === panel.width)) return
    draw(made, false)
  })
  observer.observe(root)
  return () => {
    unsubscribe()
    unwatch()
    observer.disconnect()
  }
}

// Panels that are alike stand in columns: as many as fit, but rather full rows than one left over.
function arrange({ flow, header, panels, wide }) {
  flow.classList.toggle("even", !!header.even)
  if (!header.even || !wide) return
  const { min, max } = panels[0].data.width
  const fit = Math.max(1, Math.min(panels.length, Math.floor((wide + 8) / (min + 8))))
  const columns = Math.ceil(panels.length / Math.ceil(panels.length / fit))
  flow.style.gridTemplateColumns = `repeat(${columns}, minmax(0, ${max ? `${max}px` : "1fr"}))`
}

function build(root, id) {
  const flow = make("div", { className: "flow", role: "group" }), over = make("div"), below = make("div")
  root.replaceChildren(over, flow, below)
  return { id, root, flow, over, below, boxes: new Map(), at: value => value }
}

// Everything as it is for what is selected now; what the server has yet to send stays as it was. By a projector a picture
// is as tall as the screen has room for, and shows a part of its panels where all are too many.
export function draw(made, moves, isMeasured = true) {
  const place = store.within(made.header.sizes), now = entryOf(made, place)
  made.flow.toggleAttribute("data-waiting", now === undefined)
  if (now === undefined) return
  const again = made.drawn === made.header && made.now === now
  Object.assign(made, { now, drawn: made.header, shown: store.selection, at: value => pick(value, place, made.arrays) })
  const { at, header } = made
  made.flow.setAttribute("aria-label", at(header.title))
  made.flow.setAttribute("aria-description", at(header.description))
  const colors = palette(header)
  keys(made, colors)
  const all = made.panels.filter(panel => at(panel.data.present ?? true))
  const part = all.filter(panel => made.root.panels?.includes(panel.data.id)), present = part.length ? part : all
  for (const panel of made.panels) panel.box.style.display = present.includes(panel) ? "" : "none"
  // All widths before anything is written: what is written in between would have the page laid out again.
  const asks = isMeasured || present.some(panel => !panel.width) || made.present?.length !== present.length
  const widths = present.map(panel => asks ? panel.box.clientWidth : panel.width), pace = moves ? MOVE : 0
  made.present = present
  present.forEach((panel, n) => render(made, panel, { width: widths[n], moves: pace, colors, again: again && colors === panel.colors }))
  corner(made.root, made)
}

// Which entry of a picture's tables is shown, as a name: the same one has nothing drawn again. Of two tables of which the
// first is taken that has an entry, either may hold it.
function entryOf(made, place) {
  const { header } = made
  if (made.axes?.of !== header) made.axes = { of: header, names: [...axesOf(header)], held: [0, 1].map(n => Object.entries(heldBy(header, made.arrays, n))) }
  const { names, held } = made.axes
  const isHeld = ranges => ranges.every(([axis, [from, to]]) => (place[axis] ?? 0) >= from && (place[axis] ?? 0) < to)
  if (!held.some(isHeld)) return undefined
  return names.map(name => place[name]).join(",")
}

function panelsOf(made) {
  const known = made.boxes
  made.boxes = new Map()
  const panels = made.header.panels.map(data => {
    const panel = known.get(data.id) ?? frame()
    made.boxes.set(data.id, panel)
    const { min, max, grow } = data.width
    Object.assign(panel.box.style, { flex: `${grow} 1 ${min}px`, maxWidth: max ? `${max}px` : "", minWidth: `min(100%, ${min}px)` })
    panel.data = data
    return panel
  })
  seat(made.flow, panels.map(panel => panel.box))
  for (const panel of panels) panel.targets = targets(made, panel)
  return panels
}

function frame() {
  const unheard = { "aria-hidden": "true" }, svg = document.createElementNS(SVG, "svg")
  const canvas = make("canvas", unheard), over = make("div", { className: "over" }), tip = make("div", { className: "tip", ...unheard })
  svg.setAttribute("aria-hidden", "true")
  const box = make("div", { className: "panel" }, canvas, svg, over, tip)
  return { box, canvas, svg, over, tip, drawn: new Map(), width: 0 }
}

function render(made, panel, { width, moves, colors, again }) {
  const { box, canvas, svg, data } = panel, { at } = made
  if (!width) return // not laid out yet: the observer will ask again
  const tall = made.root.tall ?? 1, px = length => measure(at(length), width), py = length => tall * px(length)
  const height = Math.round(py(data.height))
  const resized = width !== panel.width || height !== panel.height
  if (again && !resized) return panel.place()
  Object.assign(panel, { width, height, tall, colors })
  Object.assign(box.style, { height: `${height}px`, aspectRatio: `${width} / ${height}` })
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`)
  const marks = data.marks.filter(mark => at(mark.present ?? true))
  const cells = marks.filter(mark => mark.kind === "cells").map(mark => placed(mark, at, px, py))
  const from = panel.drawn
  const items = marks.filter(mark => mark.kind === "items").map(mark => standing(mark, at, px, py))
  panel.drawn = new Map([...cells, ...items].map(now => [now.id, now]))
  cancelAnimationFrame(panel.gliding)
  if (moves && !resized && cells.length) glide(panel, cells, from, colors, moves)
  else paintCells(canvas, width, height, cells, colors)
  write(svg, marks, { at, px, py, drawn: panel.drawn, moves: resized ? 0 : moves, colors })
  panel.place()
}

// Where the cells of a mark stand now, and what they hold.
function placed(mark, at, px, py) {
  const now = Object.fromEntries(Object.entries(mark).map(([name, value]) => [name, at(value)]))
  const { values, shape, coarse } = now.values, [rows, columns] = shape.length === 1 ? [1, shape[0]] : shape
  return { ...now, x: px(mark.x), y: py(mark.y), width: px(mark.width), height: py(mark.height), values, coarse, rows, columns }
}

// From the old values and places to the new; values only where the cells are as many as before. What is new appears.
function glide(panel, cells, from, colors, duration) {
  const began = performance.now()
  const step = time => {
    const share = Math.min(1, Math.max(0, time - began) / duration), eased = 1 - (1 - share) ** 3
    paintCells(panel.canvas, panel.width, panel.height, cells.map(now => {
      if (share === 1) return now
      const old = from.get(now.id), between = (before, after) => before + (after - before) * eased
      if (!old) return { ...now, opacity: eased * (now.opacity ?? 1) }
      const place = { opacity: between(old.opacity ?? 1, now.opacity ?? 1) }
      for (const name of ["x", "y", "width", "height", "top"]) place[name] = between(old[name], now[name])
      // Of the same numbers only the place changes, and what was painted of them stays.
      if (old.rows !== now.rows || old.columns !== now.columns || old.values === now.values) return { ...now, ...place }
      const values = now.values.slice()
      for (let i = 0; i < values.length; i++) {
        const before = old.values[i], value = values[i]
        if (Number.isFinite(before) && Number.isFinite(value)) values[i] = between(before, value)
      }
      return { ...now, ...place, values, passes: true }
    }), colors)
    if (share < 1) panel.gliding = requestAnimationFrame(step)
  }
  step(began)
}
