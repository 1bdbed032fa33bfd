// The bars or the points of one series: where they stand, how they look, and which of them a pointer is at.
import { along } from "./cases.js"
import { color, nth } from "./marks.js"

const REACH = 14 // pixels from a point within which it is pointed at

// Where the items of a mark stand now, and what they say.
export function standing(mark, at, px, py) {
  const xs = along(at(mark.x), px), ys = along(at(mark.y), py), n = xs.length
  const wide = mark.width && along(at(mark.width), px), tall = mark.height && along(at(mark.height), py)
  const boxes = xs.map((x, i) => {
    const [w, h] = wide ? [wide[i], tall[i]] : [nth(at(mark.size ?? 8), i), nth(at(mark.size ?? 8), i)]
    const left = wide ? x + Math.min(0, w) : x - w / 2, top = wide ? ys[i] + Math.min(0, h) : ys[i] - h / 2
    return { x: left, y: top, width: Math.abs(w), height: Math.abs(h) }
  })
  const known = boxes.filter(box => Number.isFinite(box.x) && Number.isFinite(box.y))
  const x = Math.min(...known.map(box => box.x)), y = Math.min(...known.map(box => box.y))
  const down = !!at(mark.down)
  return {
    id: mark.id, kind: "items", bars: !!wide, boxes, rows: down ? n : 1, columns: down ? 1 : n, walk: n > 0 && known.length > 0 && at(mark.walk ?? true),
    labels: at(mark.labels) ?? [], picks: at(mark.picks), where: at(mark.where), name: at(mark.name),
    x, y, width: Math.max(...known.map(box => box.x + box.width)) - x, height: Math.max(...known.map(box => box.y + box.height)) - y,
  }
}

// The item at a place, and how far from it: a bar holds it, a point is near.
export function nearest({ boxes, bars }, x, y) {
  let found = null
  boxes.forEach((box, i) => {
    if (!Number.isFinite(box.x)) return
    const far = bars ? outside(box, x, y) : Math.hypot(x - box.x - box.width / 2, y - box.y - box.height / 2)
    const reach = bars ? 1 : Math.max(REACH, box.width / 2)
    if (far <= reach && (!found || far < found.far)) found = { index: i, far: bars ? 0 : far }
  })
  return found
}

// How far from a bar; one of hardly any length is met like one that has some.
function outside({ x: left, y: top, width, height }, x, y) {
  const spare = side => Math.max(0, 6 - side) / 2
  const away = (at, from, side) => Math.max(from - spare(side) - at, at - from - side - spare(side), 0)
  return Math.max(away(x, left, width), away(y, top, height))
}

export function items({ mark, at, px, py, colors }) {
  const { boxes, bars } = standing(mark, at, px, py)
  const fill = at(mark.fill), stroke = at(mark.stroke), opacity = at(mark.opacity ?? 1), thick = at(mark.thick ?? 1), symbol = at(mark.symbol ?? "")
  return boxes.flatMap((box, i) => {
    if (!Number.isFinite(box.x) || !Number.isFinite(box.y)) return []
    const alpha = nth(opacity, i), hue = color(nth(fill, i), colors), edge = nth(stroke, i), line = edge ? nth(thick, i) : 0
    if (bars) {
      const one = { id: `${mark.id}.${i}`, tag: "rect", set: {
        x: box.x, y: box.y, width: box.width, height: box.height, fill: hue, "fill-opacity": alpha,
        stroke: line ? color(edge, colors) : "none", "stroke-width": line,
      } }
      return mark.hatch ? [one, hatched(mark, at, box, i, colors)] : [one]
    }
    const name = nth(symbol, i), size = nth(at(mark.size ?? 8), i)
    if (!name || !alpha) return []
    const open = name.endsWith("-open") || STROKES.has(name.replace("-open", ""))
    return [{ id: `${mark.id}.${i}`, tag: "path", set: {
      d: SHAPES[name.replace("-open", "")]?.(size / 2) ?? SHAPES.circle(size / 2), transform: `translate(${box.x + box.width / 2},${box.y + box.height / 2})`,
      fill: open ? "none" : hue, "fill-opacity": alpha, stroke: open ? hue : line ? color(edge, colors) : "none",
      "stroke-width": open ? Math.max(1.5, line) : line, "stroke-opacity": alpha,
    } }]
  })
}

const polygon = (...points) => r => `M${points.map(([x, y]) => `${(x * r).toFixed(2)},${(y * r).toFixed(2)}`).join("L")}Z`
const SHAPES = {
  circle: r => `M${-r},0A${r},${r} 0 1 1 ${r},0A${r},${r} 0 1 1 ${-r},0Z`,
  square: polygon([-1, -1], [1, -1], [1, 1], [-1, 1]),
  diamond: polygon([0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]),
  "triangle-up": polygon([0, -1.15], [1.1, 0.85], [-1.1, 0.85]),
  "triangle-down": polygon([0, 1.15], [1.1, -0.85], [-1.1, -0.85]),
  cross: polygon([-0.35, -1], [0.35, -1], [0.35, -0.35], [1, -0.35], [1, 0.35], [0.35, 0.35], [0.35, 1], [-0.35, 1], [-0.35, 0.35], [-1, 0.35], [-1, -0.35], [-0.35, -0.35]),
  x: r => `M${-0.8 * r},${-0.8 * r}L${0.8 * r},${0.8 * r}M${-0.8 * r},${0.8 * r}L${0.8 * r},${-0.8 * r}`,
  "line-ns": r => `M0,${-r}L0,${r}`,
}
const STROKES = new Set(["x", "line-ns"])

// Lines across a bar, each cut where it ends.
function hatched(mark, at, { x, y, width, height }, i, colors) {
  const parts = [], back = at(mark.slant) === "\\"
  for (let c = 6; c < width + height; c += 6) {
    const [ax, ay] = c < height ? [0, c] : [c - height, height], [bx, by] = c < width ? [c, 0] : [width, c - width]
    const across = n => (back ? x + width - n : x + n).toFixed(1)
    parts.push(`M${across(ax)},${(y + ay).toFixed(1)}L${across(bx)},${(y + by).toFixed(1)}`)
  }
  return { id: `${mark.id}.${i}.hatch`, tag: "path", set: { d: parts.join(""), stroke: color(at(mark.hatch), colors), "stroke-width": 1, "stroke-opacity": 0.6, fill: "none" } }
}
