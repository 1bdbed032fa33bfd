// Names along an edge: as many as there is room for, slanted where they would touch.
import { along } from "./cases.js"
import { plain, short, wide } from "./writing.js"

const LINE = 15

export function labels({ mark, at, px, py, colors }) {
  const names = at(mark.texts).map(name => short(name, at(mark.most ?? 14))), size = at(mark.size ?? 12)
  if (!names.length) return []
  const upright = at(mark.along) === "y", reach = upright ? py : px, [x, y, length] = [px(mark.x), py(mark.y), reach(mark.length)]
  const even = length / names.length, marked = at(mark.marked ?? -1)
  const places = mark.places ? along(at(mark.places), reach) : names.map((_, i) => (upright ? y : x) + (i + 0.5) * even)
  // Where they stand unevenly, the nearest two decide.
  const step = places.length > 1 ? Math.min(...places.slice(1).map((place, i) => Math.abs(place - places[i]))) || even : Math.abs(length)
  const one = (i, set) => ({
    id: `${mark.id}.${i}`, tag: "text", words: names[i], class: i === marked ? "bold" : null, align: "top",
    set: {
      "font-size": size, "dominant-baseline": "central", fill: colors[at(mark.fill ?? "ink")], transform: null,
      "font-family": at(mark.mono) ? MONO : null, ...set,
    },
  })
  if (upright) {
    const every = Math.max(1, Math.ceil(LINE / step))
    return names.flatMap((_, i) => i % every && i !== marked ? [] : [
      { ...one(i, { x, y: places[i], "text-anchor": at(mark.anchor ?? "end") }), align: "middle" },
    ]).filter(clear(marked, every))
  }
  const longest = Math.max(...names.map(name => wide(name, size))), turn = at(mark.turn ?? "auto")
  const counted = names.every(name => /^\d+$/.test(plain(name)))
  const below = i => one(i, { x: places[i], y: y + 8, "text-anchor": "middle" })
  if (counted && turn !== "always") {
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500].find(n => longest + 10 <= step * n) ?? names.length
    return names.flatMap((_, i) => i % every ? [] : [below(i)])
  }
  const flat = turn !== "always" && longest + 6 <= step
  const every = flat ? 1 : Math.max(1, Math.ceil((turn === "never" ? longest + 8 : LINE) / step))
  return names.flatMap((_, i) => {
    if (i % every && i !== marked) return []
    if (flat || turn === "never") return [below(i)]
    const middle = places[i]
    return [one(i, { x: middle + 4, y: y + 4, "text-anchor": "end", transform: `rotate(-45 ${middle + 4} ${y + 4})` })]
  }).filter(clear(marked, every))
}

export const MONO = "var(--st-code-font), monospace"

// The marked name is always written; neighbors that would touch it are not.
const clear = (marked, every) => node => {
  const i = Number(node.id.slice(node.id.lastIndexOf(".") + 1))
  return i === marked || marked < 0 || every === 1 || Math.abs(i - marked) >= every
}
