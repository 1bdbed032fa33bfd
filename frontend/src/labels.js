// Names along an edge: as many as there is room for, slanted where they would touch.
import { ruler, short } from "./writing.js"

const LINE = 15

export function labels({ mark, at, px, colours }) {
  const names = at(mark.texts).map(name => short(name, at(mark.most ?? 14)))
  const step = px(mark.length) / names.length, [x, y] = [px(mark.x), px(mark.y)]
  const marked = at(mark.marked ?? -1)
  const one = (i, set) => ({
    id: `${mark.id}.${i}`, tag: "text", text: names[i], class: i === marked ? "bold" : null,
    set: { "font-size": 12, "dominant-baseline": "central", fill: colours.ink, transform: null, ...set },
  })
  if (at(mark.along) === "y") {
    const every = Math.max(1, Math.ceil(LINE / step))
    return names.flatMap((_, i) => i % every && i !== marked ? [] : [
      one(i, { x, y: y + (i + 0.5) * step, "text-anchor": at(mark.anchor ?? "end") }),
    ]).filter(clear(marked, every))
  }
  const longest = Math.max(...names.map(name => ruler(name)))
  const counted = names.every(name => /^\d+$/.test(name))
  if (counted) {
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500].find(n => longest + 10 <= step * n) ?? names.length
    return names.flatMap((_, i) => i % every ? [] : [one(i, { x: x + (i + 0.5) * step, y: y + 8, "text-anchor": "middle" })])
  }
  const flat = longest + 6 <= step
  const every = flat ? 1 : Math.max(1, Math.ceil(LINE / step))
  return names.flatMap((_, i) => {
    if (i % every && i !== marked) return []
    const middle = x + (i + 0.5) * step
    if (flat) return [one(i, { x: middle, y: y + 8, "text-anchor": "middle" })]
    return [one(i, { x: middle + 4, y: y + 4, "text-anchor": "end", transform: `rotate(-45 ${middle + 4} ${y + 4})` })]
  }).filter(clear(marked, every))
}

// The marked name is always written; neighbours that would touch it are not.
const clear = (marked, every) => node => {
  const i = Number(node.id.slice(node.id.lastIndexOf(".") + 1))
  return i === marked || marked < 0 || every === 1 || Math.abs(i - marked) >= every
}
