// Everything of a panel that is not cells: writing, frames, bars, lines. Each mark keeps its identity, so that it can
// move from where it was to where it is.
import { easeCubicOut } from "d3-ease"
import { select } from "d3-selection"
import "d3-transition"
import { along } from "./cases.js"
import { colorOf, each, shareOf } from "./cells.js"
import { items } from "./items.js"
import { labels, MONO } from "./labels.js"
import { brief, linesOf, mixed, ruler, wide } from "./writing.js"

export function write(svg, marks, { at, px, py, drawn, moves, colors }) {
  const nodes = marks.flatMap(mark => DRAWN[mark.kind]({ mark, at, px, py, drawn, colors }) ?? [])
  const joined = select(svg).selectChildren().data(nodes, node => `${node.tag} ${node.id}`)
  joined.exit().remove()
  const entered = joined.enter().append(node => document.createElementNS(svg.namespaceURI, node.tag))
  entered.each(function (node) { dress(this, node) })
  joined.interrupt("appear").attr("opacity", null)
  if (moves) entered.attr("opacity", 0).transition("appear").duration(moves).attr("opacity", 1)
  if (moves) glide(joined.interrupt(), moves)
  else joined.interrupt().each(function (node) { dress(this, node) })
  entered.merge(joined).order()
}

// Attributes may glide; text and class change at once.
function glide(kept, moves) {
  kept.each(function (node) {
    spell(this, node)
    put(this, "class", node.class)
  })
  const gliding = kept.transition().duration(moves).ease(easeCubicOut)
  for (const name of new Set(kept.data().flatMap(node => Object.keys(node.set)))) gliding.attr(name, node => node.set[name] ?? null)
}

function dress(element, node) {
  spell(element, node)
  put(element, "class", node.class)
  for (const name in node.set) put(element, name, node.set[name])
}

// What is written to an element has it styled again, even where nothing is new.
function put(element, name, value) {
  if (value === null || value === undefined) element.removeAttribute(name)
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value)
}

// Writing of one line and one look is the element's own; else a part for each run.
function spell(element, { words, align, set }) {
  if (!Array.isArray(words)) {
    if (element.textContent !== (words ?? "") || element.firstElementChild) element.textContent = words ?? ""
    return
  }
  // Writing of several parts is made anew only where it differs.
  const now = JSON.stringify([words, align, set["font-size"], set.x])
  if (element.spelled === now && element.firstElementChild) return
  element.spelled = now
  const made = words.flatMap((line, n) => line.map(([text, bold, fill], i) => {
    const part = document.createElementNS(element.namespaceURI, "tspan")
    part.textContent = text
    if (bold) part.setAttribute("class", "bold")
    if (fill) part.setAttribute("style", `fill: ${fill}`)
    if (i === 0) {
      const size = set["font-size"] * 1.25, first = { top: 0, middle: -(words.length - 1) / 2, bottom: 1 - words.length }[align ?? "middle"]
      part.setAttribute("x", set.x)
      part.setAttribute("dy", n ? size : first * size)
    }
    return part
  }))
  element.replaceChildren(...made)
}

export const color = (name, colors) => name ? colors[name] ?? name : "none"
const tinted = (words, colors) => Array.isArray(words)
  ? words.map(line => line.map(([text, bold, fill]) => [text, bold, fill && color(fill, colors)])) : words

const DRAWN = {
  rect({ mark, at, px, py, colors }) {
    const [width, height] = [px(mark.width), py(mark.height)]
    // A negative length reaches back from where it begins.
    const [x, y] = [px(mark.x) + Math.min(0, width), py(mark.y) + Math.min(0, height)]
    return [{
      id: mark.id, tag: "rect",
      set: {
        x, y, width: Math.abs(width), height: Math.abs(height), rx: at(mark.radius ?? 0),
        fill: color(at(mark.fill), colors), "fill-opacity": at(mark.opacity ?? 1),
        stroke: color(at(mark.stroke), colors), "stroke-width": at(mark.thick ?? 1),
        "stroke-dasharray": at(mark.dash ?? null),
      },
    }]
  },
  path({ mark, at, px, py, colors }) {
    const xs = along(at(mark.x), px), ys = along(at(mark.y), py)
    const runs = unbroken(xs.map((x, i) => [x, ys[i]])), last = runs[runs.length - 1] ?? []
    const stroke = color(at(mark.stroke), colors), thick = at(mark.thick ?? 1.5), opacity = at(mark.opacity ?? 1), head = at(mark.head)
    const [[x0, y0], [x1, y1]] = [runs[0]?.[0] ?? [0, 0], last[last.length - 1] ?? [0, 0]], middle = (x0 + x1) / 2
    const before = last.findLast(([x, y]) => Math.hypot(x - x1, y - y1) > 1)
    const tip = head && before ? arrowhead(before, [x1, y1], head) : null
    if (tip) last.splice(-1, 1, tip.neck)
    const d = !runs.length ? "" : at(mark.curve) === "link" ? `M${x0},${y0}C${middle},${y0} ${middle},${y1} ${x1},${y1}`
      : runs.map(points => `M${points.map(point => point.map(n => n.toFixed(1)).join(",")).join("L")}${at(mark.fill) ? "Z" : ""}`).join("")
    return [{
      id: mark.id, tag: "path",
      set: {
        d, fill: color(at(mark.fill), colors), "fill-opacity": opacity, stroke, "stroke-width": thick,
        "stroke-opacity": opacity, "stroke-dasharray": at(mark.dash ?? null), "stroke-linejoin": "round",
      },
    }, ...(tip ? [{ id: `${mark.id}.head`, tag: "path", set: { d: tip.d, fill: stroke, "fill-opacity": opacity } }] : [])]
  },
  text({ mark, at, px, py, colors }) {
    const [x, y] = [px(mark.x), py(mark.y)]
    return [{
      id: mark.id, tag: "text", words: tinted(at(mark.text), colors), class: at(mark.bold) ? "bold" : null, align: at(mark.align),
      set: {
        x, y, "font-size": at(mark.size ?? 12), "text-anchor": at(mark.anchor ?? "start"), "dominant-baseline": "central",
        fill: color(at(mark.fill ?? "ink"), colors), transform: at(mark.rotate) ? `rotate(${at(mark.rotate)} ${x} ${y})` : null,
        "fill-opacity": at(mark.opacity ?? 1), "font-family": at(mark.mono) ? MONO : null,
      },
    }]
  },
  texts({ mark, at, px, py, colors }) {
    const xs = along(at(mark.x), px), ys = along(at(mark.y), py), size = at(mark.size ?? 12)
    const rooms = mark.rooms && along(at(mark.rooms), px)
    return at(mark.texts).flatMap((words, i) => {
      if (!words.length || !Number.isFinite(xs[i]) || !Number.isFinite(ys[i]) || (rooms && wide(words, size) + 4 > rooms[i])) return []
      return [{
        id: `${mark.id}.${i}`, tag: "text", words: tinted(words, colors),
        set: {
          x: xs[i], y: ys[i], "font-size": size, "text-anchor": nth(at(mark.anchor ?? "middle"), i), "dominant-baseline": "central",
          fill: color(nth(at(mark.fill ?? "ink"), i), colors), "font-family": at(mark.mono) ? MONO : null,
        },
      }]
    })
  },
  items,
  labels,
  // The numbers of cells that have room for them.
  cells({ mark: { id }, drawn, colors }) {
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
      const share = Number.isFinite(value) ? shareOf(now, value) : 0
      const inside = now.look !== "bars"
      const up = inside ? y + h / 2 : Math.max(y + 7, now.signed ? y + h / 2 - (h / 2) * (value > 0 ? share : 0) - 8 : y + h - h * share - 8)
      nodes.push({
        id: `${id}.${r}.${c}`, tag: "text", words: texts[r * now.columns + c],
        set: {
          x: x + w / 2, y: up, "font-size": 12, "text-anchor": "middle", "dominant-baseline": "central",
          fill: inside ? mixed(colors, colorOf(now, value), share) : colors.ink,
        },
      })
    })
    return nodes
  },
}

// One value for all, or one for each.
export const nth = (value, i) => Array.isArray(value) ? value[i] : value?.shape ? value.values[i] : value

// Points -> runs of them without a gap.
function unbroken(points) {
  const runs = [[]]
  for (const point of points) {
    if (point.every(Number.isFinite)) runs[runs.length - 1].push(point)
    else if (runs[runs.length - 1].length) runs.push([])
  }
  return runs.filter(run => run.length)
}

function arrowhead([x0, y0], [x1, y1], size) {
  const far = Math.hypot(x1 - x0, y1 - y0), [ux, uy] = [(x1 - x0) / far, (y1 - y0) / far], [bx, by] = [x1 - ux * size, y1 - uy * size]
  const side = n => `${(bx - n * uy * size * 0.45).toFixed(1)},${(by + n * ux * size * 0.45).toFixed(1)}`
  return { neck: [x1 - ux * size * 0.7, y1 - uy * size * 0.7], d: `M${x1.toFixed(1)},${y1.toFixed(1)}L${side(1)}L${side(-1)}Z` }
}
