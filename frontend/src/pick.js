// Tables: values that differ by what is selected. The same as viz_model/drawing/tables.py, whose names these are.
import { written } from "./digits.js"

const PLACE = /\{\{(\w+)\}\}/g
const isObject = value => value !== null && typeof value === "object"

// What stands for a selection; undefined where the server has yet to send it. An array is { values, shape }.
export function pick(value, place, arrays) {
  if (!isObject(value)) return value
  if ("array" in value) return arrays[value.array]
  if ("by" in value) return entry(value, place, arrays)
  if ("among" in value) {
    const at = pick(value.among, place, arrays)
    if (at === undefined) return undefined
    return typeof at === "number" ? pick(value.names[at], place, arrays) : Array.from(inside(at), n => value.names[n])
  }
  if ("phrase" in value) return fill(pick(value.phrase, place, arrays), name => pick(value.values[name], place, arrays))
  if ("each" in value) return each(value, place, arrays)
  if ("lengths" in value) return lengths(value, place, arrays)
  if ("scaled" in value) return scaled(value, place, arrays)
  if ("first" in value) {
    for (const one of value.first) {
      const found = pick(one, place, arrays)
      if (found !== undefined) return found
    }
    return undefined
  }
  if ("site" in value) return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, Array.isArray(part) ? part.map(one => pick(one, place, arrays)) : pick(part, place, arrays)]))
  return value
}

// The entries of an array; of a list, which has a method called values, the list.
const inside = found => Array.isArray(found) || ArrayBuffer.isView(found) ? found : found.values

// Undefined where a part of it has yet to be sent.
function fill(template, value) {
  let isWhole = true
  const made = template?.replace(PLACE, (_, name) => {
    const found = value(name)
    isWhole &&= found !== undefined
    return said(found)
  })
  return isWhole ? made : undefined
}
const said = value => Array.isArray(value) ? value.join(" · ") : String(value)

function entry(table, place, arrays) {
  let found = table.of, at = 0, size = 1, shape = null
  if (isObject(found) && "array" in found) {
    const array = arrays[found.array]
    shape = array.shape
    for (const length of shape) size *= length
    for (const [n, axis] of table.by.entries()) {
      const k = nth(table, axis, place, arrays)
      if (!(k >= 0 && k < shape[n])) return undefined
      size /= shape[n]
      at += k * size
    }
    const rest = shape.slice(table.by.length)
    if (!rest.length) return table.write ? written(array.values[at], table.write) : array.values[at]
    return view(array, at, size, rest)
  }
  for (const axis of table.by) {
    const k = nth(table, axis, place, arrays)
    if (!(k >= 0 && k < found.length)) return undefined
    found = found[k]
  }
  if (table.write && typeof found === "number") return written(found, table.write)
  return pick(found, place, arrays)
}

const nth = (table, axis, place, arrays) => (pick(table.fixed?.[axis], place, arrays) ?? place[axis] ?? 0) - (table.start?.[axis] ?? 0)

// The same part of an array is one object: whoever keeps what was made of it sees that it is the same.
function view(array, at, size, shape) {
  array.views ??= new Map()
  const key = `${at},${size}`
  if (!array.views.has(key)) array.views.set(key, { values: array.part(at, size), shape, coarse: array.coarse })
  return array.views.get(key)
}

function each(value, place, arrays) {
  const given = Object.fromEntries(Object.entries(value.values).map(([name, one]) => [name, pick(one, place, arrays)]))
  if (Object.values(given).includes(undefined)) return undefined
  const many = name => isObject(given[name])
  const counted = Object.keys(given).find(many)
  if (!counted) return []
  const count = inside(given[counted]).length
  const nth = (name, n) => {
    if (!many(name)) return given[name]
    const one = inside(given[name])[n], how = value.values[name].write
    return how && typeof one === "number" ? written(one, how) : one
  }
  return Array.from({ length: count }, (_, n) => fill(value.each, name => nth(name, n)))
}

// Numbers that follow from others; made of the same ones they are one object.
function scaled({ scaled: values, times, seen }, place, arrays) {
  const found = pick(values, place, arrays), shown = seen && pick(seen, place, arrays)
  if (found === undefined) return undefined
  const { buffer, byteOffset } = shown?.values ?? {} // each array has its own buffer, and a row its place in it
  let kept = (found.made ??= []).find(one => one.times === times && one.buffer === buffer && one.byteOffset === byteOffset)
  if (!kept) found.made.push(kept = { times, buffer, byteOffset, made: { ...found, made: undefined, values: found.values.map((value, n) => shown && !shown.values[n] ? NaN : value * times) } })
  return kept.made
}

// Where values stand along a scale, in lengths.
function lengths({ lengths: values, start, end, low, high, log }, place, arrays) {
  const found = pick(values, place, arrays)
  if (found === undefined) return undefined
  const on = log ? Math.log10 : value => value, from = on(pick(low, place, arrays)), span = on(pick(high, place, arrays)) - from || 1
  const share = value => (on(value) - from) / span, between = (a, b, value) => a + share(value) * (b - a)
  const isPair = Array.isArray(start)
  if (typeof found === "number") return isPair ? start.map((a, n) => between(a, end[n], found)) : between(start, end, found)
  const given = inside(found), made = new Float32Array(given.length * (isPair ? 2 : 1))
  given.forEach((value, n) => isPair ? start.forEach((a, k) => { made[2 * n + k] = between(a, end[k], value) }) : made[n] = between(start, end, value))
  return { values: made, shape: isPair ? [given.length, 2] : [given.length] }
}

// From where to where tables hold entries, for each axis; of several of which the first is taken that has one, the nth. A
// selection beyond is of another message: one that is yet to come, or the next, which was read while this one was drawn.
export function heldBy(value, arrays, nth) {
  const found = {}
  lookUps(value, nth, ({ of, start }, axis, n) => {
    const from = start?.[axis] ?? 0, size = isObject(of) && "array" in of ? arrays[of.array].shape[n] : n === 0 ? of.length : undefined
    const [low, high] = found[axis] ?? [0, Infinity]
    if (size !== undefined) found[axis] = [Math.max(low, from), Math.min(high, from + size)]
  })
  return found
}

// The axes that a value is looked up by.
export function axesOf(value) {
  const found = new Set()
  lookUps(value, undefined, (table, axis) => found.add(axis))
  return found
}

// Every table within a value, with each axis that is not fixed, and its number; of several the nth.
function lookUps(value, nth, visit) {
  if (Array.isArray(value)) value.forEach(one => lookUps(one, nth, visit))
  else if (isObject(value)) {
    value.by?.forEach((axis, n) => axis in (value.fixed ?? {}) || visit(value, axis, n))
    for (const name in value) if (name !== "by" && name !== "start") lookUps(name === "first" && nth !== undefined ? value.first[nth] : value[name], nth, visit)
  }
}
