// Everything of a panel that is not cells: writing, frames, bars, lines. Each mark keeps its identity, so that it can
// move from where it was to where it is.
import { easeCubicOut } from "d3-ease"
import { select } from "d3-selection"
import "d3-transition"
import { colourOf, each } from "./cells.js"
import { labels } from "./labels.js"
import { brief, mixed, ruler } from "./writing.js"

export function write(svg, marks, { at, px, drawn, moves, colours }) {
  const nodes = marks.flatMap(mark => DRAWN[mark.kind]({ mark, at, px, drawn, colours }) ?? [])
  const joined = select(svg).selectAll("*").data(nodes, node => node.id)
  joined.exit().remove()
  const entered = joined.enter().append(node => document.createElementNS(svg.namespaceURI, node.tag))
  dress(entered)
  const kept = joined
  if (moves) dress(kept.interrupt().transition().duration(moves).ease(easeCubicOut), kept)
  else dress(kept.interrupt())
  entered.merge(kept).order()
}

// Attributes may glide; text and class change at once.
function dress(target, plain = target) {
  plain.text(node => node.text ?? null).attr("class", node => node.class ?? null)
  const names = new Set(target.data?.().flatMap(node => Object.keys(node.set)) ?? plain.data().flatMap(node => Object.keys(node.set)))
  for (const name of names) target.attr(name, node => node.set[name] ?? null)
}

const colour = (name, colours) => name ? colours[name] ?? name : "none"

const DRAWN = {
  rect({ mark, at, px, colours }) {
    const [width, height] = [px(mark.width), px(mark.height)]
    // A negative length reaches back from where it begins.
    const [x, y] = [px(mark.x) + Math.min(0, width), px(mark.y) + Math.min(0, height)]
    return [{
      id: mark.id, tag: "rect",
      set: {
        x, y, width: Math.abs(width), height: Math.abs(height), rx: at(mark.radius ?? 0),
        fill: colour(at(mark.fill), colours), "fill-opacity": at(mark.opacity ?? 1),
        stroke: colour(at(mark.stroke), colours), "stroke-width": at(mark.thick ?? 1),
        "stroke-dasharray": at(mark.dash ?? null),
      },
    }]
  },
  path({ mark, at, px, colours }) {
    const [xs, ys] = [at(mark.x), at(mark.y)], count = xs.shape[0]
    const points = Array.from({ length: count }, (_, i) => [
      px([xs.values[2 * i], xs.values[2 * i + 1]]), px([ys.values[2 * i], ys.values[2 * i + 1]]),
    ]).filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y))
    const [[x0, y0], [x1, y1]] = [points[0] ?? [0, 0], points[points.length - 1] ?? [0, 0]], middle = (x0 + x1) / 2
    const d = !points.length ? "" : at(mark.curve) === "link" ? `M${x0},${y0}C${middle},${y0} ${middle},${y1} ${x1},${y1}`
      : `M${points.map(point => point.map(n => n.toFixed(1)).join(",")).join("L")}${at(mark.fill) ? "Z" : ""}`
    return [{
      id: mark.id, tag: "path",
      set: {
        d, fill: colour(at(mark.fill), colours), "fill-opacity": at(mark.opacity ?? 1),
        stroke: colour(at(mark.stroke), colours), "stroke-width": at(mark.thick ?? 1.5),
        "stroke-opacity": at(mark.opacity ?? 1), "stroke-dasharray": at(mark.dash ?? null),
        "stroke-linejoin": "round",
      },
    }]
  },
  text({ mark, at, px, colours }) {
    const [x, y] = [px(mark.x), px(mark.y)]
    return [{
      id: mark.id, tag: "text", text: at(mark.text), class: at(mark.bold) ? "bold" : null,
      set: {
        x, y, "font-size": at(mark.size ?? 12), "text-anchor": at(mark.anchor ?? "start"), "dominant-baseline": "central",
        fill: colour(at(mark.fill ?? "ink"), colours), transform: at(mark.rotate) ? `rotate(${at(mark.rotate)} ${x} ${y})` : null,
      },
    }]
  },
  labels,
  // The numbers of cells that have room for them.
  cells({ mark: { id }, drawn, colours }) {
    const now = drawn.get(id)
    if (!now.written) return []
    const across = now.width / now.columns, down = now.height / now.rows
    if (down < 14 || now.rows * now.columns > 2500) return []
    const said = digits => Array.from(now.values, value => brief(value, digits, now.hidden))
    const fits = texts => texts.every(text => ruler(text) + 4 <= across)
    const texts = [2, 1].map(said).find(fits)
    if (!texts) return []
    const nodes = []
    each(now, (value, x, y, w, h, r, c) => {
      const share = Number.isFinite(value) ? Math.min(1, Math.abs(value) / now.top) : 0
      const inside = now.look !== "bars"
      const up = inside ? y + h / 2 : Math.max(y + 7, now.signed ? y + h / 2 - (h / 2) * (value > 0 ? share : 0) - 8 : y + h - h * share - 8)
      nodes.push({
        id: `${id}.${r}.${c}`, tag: "text", text: texts[r * now.columns + c],
        set: {
          x: x + w / 2, y: up, "font-size": 12, "text-anchor": "middle", "dominant-baseline": "central",
          fill: inside ? mixed(colours, colourOf(now, value), share) : colours.ink,
        },
      })
    })
    return nodes
  },
}
