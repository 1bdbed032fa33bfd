// What of a scene answers: to a pointer, to a touch (the first shows, the second acts), and to the keyboard, where all
// of a scene is one stop of Tab and arrows walk in it. Screen readers meet buttons, and cells one by one.
import { measure } from "./cases.js"
import { nearest } from "./items.js"
import { make } from "./nodes.js"
import { keepInSight } from "./sight.js"
import { store } from "./store.js"
import { whereIs } from "./where.js"
import { minus } from "./writing.js"

const digits = (value, count = 4) => minus(value.toFixed(count))
const walked = mark => (mark.kind === "cells" || mark.kind === "items") && mark.walk !== false

export function targets(made, panel) {
  const { over, data, tip, box } = panel
  const name = mark => `${mark.kind} ${mark.id}` // of two selections, marks of two kinds may have one id
  const known = new Map((panel.targets ?? []).map(target => [name(target.mark), target]))
  const whole = data.act ? [{ kind: "panel", id: data.id, x: 0, y: 0, width: [1, 0], height: data.height, act: data.act, label: data.label }] : []
  const found = [...whole, ...data.marks.filter(mark => mark.act || walked(mark))].map(mark => {
    const target = known.get(name(mark)) ?? { id: mark.id, element: make(mark.act ? "button" : "div") }
    target.element.dataset.mark = mark.id
    return Object.assign(target, { mark, selects: !!mark.act?.select })
  })
  for (const target of found) (target.mark.act ? button : grid)(made, panel, target)
  seat(over, found.map(target => target.element))

  // Put them where their marks are now.
  panel.place = () => {
    const { at } = made, px = length => measure(at(length), panel.width), py = length => panel.tall * px(length)
    for (const target of found) {
      const { element, mark } = target
      const items = mark.kind === "items" && panel.drawn.get(mark.id)
      const present = at(mark.present ?? true) && (mark.kind !== "items" || !!items?.walk)
      element.style.display = present ? "" : "none"
      target.rect = null
      if (!present) continue
      target.rect = items || { x: px(mark.x ?? 0), y: py(mark.y ?? 0), width: px(mark.width), height: py(mark.height) }
      const { x, y, width, height } = target.rect
      // In shares of the panel, which paper makes narrower without asking anybody to draw again.
      const across = length => `${100 * length / panel.width}%`, down = length => `${100 * length / panel.height}%`
      Object.assign(element.style, { left: across(x), top: down(y), width: across(width), height: down(height) })
      if (mark.act) {
        element.setAttribute("aria-label", at(mark.label ?? mark.name ?? ""))
        if (target.selects) element.setAttribute("aria-pressed", String(pressed(at(mark.act).select, store.within(made.header.sizes))))
      } else element.setAttribute("aria-label", at(mark.name) || at(made.header.title))
    }
    keepInSight(panel, found.find(({ selects, element }) => selects && element.ariaPressed === "true")?.element)
    if (target_of(panel)) show(made, panel, panel.looked)
    rove(made)
  }

  box.onpointermove = event => look(made, panel, event)
  box.onpointerleave = () => show(made, panel, null)
  box.onclick = event => click(made, panel, event)
  box.onkeydown = event => key(made, panel, event)
  return found
}

// These elements in this order and no others. What stays is not touched: an element that is moved loses the focus.
export function seat(box, elements) {
  const kept = new Set(elements)
  for (const gone of [...box.children]) if (!kept.has(gone)) gone.remove()
  elements.forEach((element, n) => box.children[n] === element || box.insertBefore(element, box.children[n] ?? null))
}

const target_of = panel => panel.looked && panel.targets?.find(target => target.id === panel.looked.id)
const pressed = (wanted, selection) => Object.entries(wanted).every(([name, value]) => selection[name] === value)

function button(made, panel, target) {
  const { element } = target
  element.type = "button"
  element.className = `target ${target.mark.kind === "panel" ? "whole" : ""}`
  element.onfocus = () => element.matches(":focus-visible") && target.mark.kind !== "panel" && show(made, panel, { id: target.id })
  element.onblur = () => show(made, panel, null)
}

function grid(made, panel, target) {
  const { element } = target
  element.className = "grid"
  element.setAttribute("role", "grid")
  if (!element.firstChild) walk(made, panel, target, 0, 0, false)
}

// The one cell of a grid that is there for screen readers and the keyboard.
function walk(made, panel, target, row, column, focused) {
  const onfocus = () => show(made, panel, { id: target.id, row: target.at[0], column: target.at[1] }), onblur = () => show(made, panel, null)
  const cell = make("div", { role: "gridcell", "aria-colindex": column + 1, tabIndex: -1, className: "cell", onfocus, onblur })
  Object.assign(target, { cell, at: [row, column] })
  target.element.replaceChildren(make("div", { role: "row", "aria-rowindex": row + 1 }, cell))
  if (focused) {
    describe(made, panel, target)
    cell.tabIndex = 0
    cell.focus()
  }
}

function describe(made, panel, target) {
  const now = panel.drawn.get(target.id)
  if (!now || !now.rows || !now.columns || (now.boxes && !now.boxes.length)) return
  // There may be fewer cells than there were.
  target.at = [Math.min(target.at[0], now.rows - 1), Math.min(target.at[1], now.columns - 1)]
  const [row, column] = target.at
  target.element.setAttribute("aria-rowcount", now.rows)
  target.element.setAttribute("aria-colcount", now.columns)
  target.cell.setAttribute("aria-label", told(made, now, row, column).join(", "))
  const box = boxOf(now, row, column)
  Object.assign(target.cell.style, {
    left: `${box.x - now.x}px`, top: `${box.y - now.y}px`, width: `${box.width}px`, height: `${box.height}px`,
  })
}

// Where one cell stands, or one item: of those, the row or the column is its number, and the other is 0.
const boxOf = (now, row, column) => now.boxes ? now.boxes[row + column] : {
  x: now.x + column * now.width / now.columns, y: now.y + row * now.height / now.rows,
  width: now.width / now.columns, height: now.height / now.rows,
}

// What is said of a cell: its value, and the names of its row and column.
export function told(made, now, row, column) {
  if (now.empty && !Number.isFinite(now.values[row * now.columns + column])) return []
  const given = now.labels?.[now.boxes ? row + column : row * now.columns + column]
  if (now.boxes || given) return (given ?? "").split("\n").filter(Boolean)
  const value = now.values[row * now.columns + column], names = made.at(made.header.words)
  // What came rounded says so, until the exact number is here; of a cell that shows the largest of many, too.
  const about = now.bound ? "≲" : "≈"
  const said = Number.isFinite(value) ? (now.coarse ? `${about} ${minus(value.toFixed(2))}` : `${now.bound ?? ""}${digits(value, now.digits)}`) : now.hidden ?? names.masked
  const { names_of_rows: rows, names_of_columns: columns } = now
  if (now.told) return now.told.replaceAll("{value}", said).replaceAll("{row}", rows?.[row]).replaceAll("{column}", columns?.[column]).split("\n")
  const line = (axis, name) => [axis, name].filter(Boolean).join(" ")
  return [said, line(now.row_axis, rows?.[row]), line(now.column_axis, columns?.[column]), now.site ?? ""].filter(Boolean)
}

function under(panel, event) {
  const box = panel.box.getBoundingClientRect(), zoom = box.width / panel.box.offsetWidth || 1 // of the whole page
  const x = (event.clientX - box.left) / zoom, y = (event.clientY - box.top) / zoom
  const inside = ({ rect }) => rect && x >= rect.x && x < rect.x + rect.width && y >= rect.y && y < rect.y + rect.height
  const target = panel.targets.findLast(one => one.mark.act && inside(one))
  // What is nearest, and of what is equally near, what lies on top.
  let met = null
  for (const now of panel.drawn.values()) {
    if (now.boxes ? !now.walk : !now.names_of_columns) continue
    const item = now.boxes ? nearest(now, x, y) : inside({ rect: now }) && { far: 0 }
    if (item && (!met || item.far <= met.far)) met = { now, ...item }
  }
  if (!met) return target ? { id: target.id } : null
  const { now, index } = met
  const [row, column] = !now.boxes ? [Math.floor((y - now.y) / now.height * now.rows), Math.floor((x - now.x) / now.width * now.columns)]
    : now.columns === 1 ? [index, 0] : [0, index]
  return { id: now.id, target: target?.id, row, column }
}

function show(made, panel, looked) {
  panel.looked = looked
  const { tip } = panel
  tip.style.display = looked ? "block" : "none"
  panel.box.classList.toggle("asks", !!looked && asks(made, panel, looked))
  if (!looked) return
  const now = panel.drawn.get(looked.id), target = panel.targets.find(one => one.id === (looked.target ?? looked.id))
  const hasCell = now && looked.row !== undefined && (!now.boxes || !!now.boxes[looked.row + looked.column])
  const lines = hasCell ? told(made, now, looked.row, looked.column) : [made.at(target?.mark.label ?? "")]
  if (hasCell && target?.mark.act) lines.push(made.at(target.mark.label ?? ""))
  if (!lines[0]) return void (tip.style.display = "none")
  const isNumber = hasCell && !now.boxes && !now.labels && !now.told
  tip.replaceChildren(...lines.map((text, i) => make("div", { className: isNumber && i === 0 ? "value" : "" }, text)))
  const rect = hasCell ? boxOf(now, looked.row, looked.column) : target.rect
  const right = rect.x + rect.width + 10
  tip.style.left = right + tip.offsetWidth < panel.width ? `${right}px` : `${Math.max(0, rect.x - 10 - tip.offsetWidth)}px`
  tip.style.top = `${Math.max(0, Math.min(panel.height - tip.offsetHeight, rect.y + rect.height / 2 - tip.offsetHeight / 2))}px`
}

const look = (made, panel, event) => event.pointerType !== "touch" && show(made, panel, under(panel, event))

function asked(made, panel, looked) {
  const now = panel.drawn.get(looked.id)
  const where = now && looked.row !== undefined && !made.header.is_beside && now.where // what is derived is the first text's
  if (!where) return null
  // Of items the count is both.
  return now.boxes ? whereIs(where, looked.row + looked.column, looked.row + looked.column) : whereIs(where, looked.row, looked.column)
}

export const asks = (made, panel, looked) => {
  const target = panel.targets.find(one => one.id === (looked.target ?? looked.id))
  return !!target?.mark.act || !!panel.drawn.get(looked.id)?.choose || !!panel.drawn.get(looked.id)?.picks?.length || !!asked(made, panel, looked)
}

function click(made, panel, event) {
  const element = panel.targets.find(target => target.element === event.target || target.cell === event.target)
  const byKey = event.detail === 0 // Enter on a button
  const looked = byKey && element ? { id: element.id } : under(panel, event) ?? (element && { id: element.id })
  if (!looked) return
  const same = panel.touched && panel.touched.id === looked.id && panel.touched.row === looked.row && panel.touched.column === looked.column
  const target = panel.targets.find(one => one.id === (looked.target ?? looked.id))
  if (event.pointerType === "touch" && !target?.mark.act && !same) {
    panel.touched = looked
    return show(made, panel, looked)
  }
  panel.touched = null
  act(made, panel, target, looked)
}

export function act(made, panel, target, looked) {
  const wanted = made.at(target?.mark.act)
  if (wanted?.select && !pressed(wanted.select, store.selection)) return store.select(wanted.select)
  if (wanted?.pick !== undefined) return made.tell("picked", wanted.pick)
  const now = panel.drawn.get(looked.id)
  if (now?.choose && looked.row !== undefined) {
    const token = (now.choose === "row" ? looked.row : looked.column) + (now.first ?? 0)
    if (token !== store.selection.token) return store.select({ token })
  }
  const picked = now?.picks?.[looked.row + looked.column]
  if (now?.boxes && picked !== undefined) return made.tell("picked", picked)
  const found = asked(made, panel, looked)
  if (found) made.tell("asked", found)
}

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }

function key(made, panel, event) {
  const focused = panel.targets.find(target => target.element === event.target || target.cell === event.target)
  if (!focused) return
  if (event.key === "Escape") return show(made, panel, null)
  if (event.key === "Enter" && focused.cell === event.target) {
    event.preventDefault()
    return act(made, panel, focused, { id: focused.id, row: focused.at[0], column: focused.at[1] })
  }
  const ends = { Home: -1, End: 1 }[event.key]
  if (ends && focused.cell) {
    event.preventDefault()
    const now = panel.drawn.get(focused.id)
    return walk(made, panel, focused, focused.at[0], ends < 0 ? 0 : now.columns - 1, true)
  }
  const step = STEPS[event.key]
  if (!step) return
  event.preventDefault()
  if (focused.cell === event.target) {
    const now = panel.drawn.get(focused.id), [row, column] = focused.at.map((n, i) => n + step[i])
    if (now && row >= 0 && row < now.rows && column >= 0 && column < now.columns) return walk(made, panel, focused, row, column, true)
  }
  onward(made, panel, focused, step)
}

// The nearest target in a direction, by where they stand on the screen.
function onward(made, panel, from, [down, right]) {
  const center = target => {
    const box = target.element.getBoundingClientRect()
    return [box.left + box.width / 2, box.top + box.height / 2]
  }
  const [x, y] = center(from)
  let best = null
  for (const other of made.panels) {
    for (const target of other.targets) {
      if (target === from) continue
      const [tx, ty] = center(target), along = (tx - x) * right + (ty - y) * down, across = Math.abs((tx - x) * down) + Math.abs((ty - y) * right)
      if (along < 2) continue
      const far = along + 3 * across
      if (!best || far < best.far) best = { far, other, target }
    }
  }
  if (!best) return
  const { other, target } = best
  const stop = target.cell ?? target.element
  if (target.cell) walk(made, other, target, down < 0 ? (other.drawn.get(target.id)?.rows ?? 1) - 1 : Math.min(from.at?.[0] * (down ? 0 : 1) || 0, (other.drawn.get(target.id)?.rows ?? 1) - 1), from.at ? Math.min(from.at[1], (other.drawn.get(target.id)?.columns ?? 1) - 1) : 0, true)
  else stop.focus()
  rove(made)
}

// One stop of Tab: what has the focus, else what is chosen, else the first.
function rove(made) {
  const all = made.panels.flatMap(panel => panel.targets.map(target => ({ panel, target })))
  const stop = ({ target }) => target.cell ?? target.element
  const root = made.flow.getRootNode()
  const current = all.find(one => stop(one) === root.activeElement) ??
    all.find(({ target }) => target.element.getAttribute("aria-pressed") === "true") ?? all[0]
  for (const one of all) {
    stop(one).tabIndex = one === current ? 0 : -1
    if (one.target.cell) describe(made, one.panel, one.target)
  }
}
