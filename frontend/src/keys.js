// What stands over and under a picture: its heading, a note, and its legend, each name beside marks that look as what
// it names.
import { write } from "./marks.js"
import { make } from "./nodes.js"
import { store } from "./store.js"
import { isArray, measure } from "./cases.js"
import { linesOf } from "./writing.js"

const [WIDE, HIGH] = [28, 14]

export function keys(made, colors) {
  const { at, header, over, below } = made
  const entries = (at(header.keys) ?? []).map(({ name, marks }) => ({ name: at(name), marks })), heading = at(header.heading), note = header.chooses ? chosen(made) : at(header.note)
  // By the numbers themselves: sent with more selections, the same ones have another place.
  const now = JSON.stringify([entries, heading, note], (_, value) => isArray(value) ? [...made.arrays[value.array].values] : value)
  if (now === made.keyed && colors === made.keyColors) return
  Object.assign(made, { keyed: now, keyColors: colors })
  const line = (className, text) => make("div", { className }, text)
  const list = make("ul", { className: "keys" }, ...entries.map(({ name, marks }) => entry(name, marks, at, colors)))
  const under = at(header.keys_at) === "below"
  over.replaceChildren(...(heading ? [line("heading", heading)] : []), ...(entries.length && !under ? [list] : []))
  below.replaceChildren(...(entries.length && under ? [list] : []), ...(note ? [line(header.chooses ? "note chosen" : "note", note)] : []))
}

// Of a picture in which one chooses: what is said of the mark that is chosen.
function chosen({ at, header }) {
  const isChosen = mark => {
    const wanted = Object.entries(at(mark.act)?.select ?? {})
    return wanted.length && wanted.every(([name, n]) => store.within(header.sizes)[name] === n)
  }
  return at(header.panels.flatMap(panel => panel.marks).find(isChosen)?.label)
}

function entry(name, marks, at, colors) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg")
  for (const [key, value] of Object.entries({ width: WIDE, height: HIGH, viewBox: `0 0 ${WIDE} ${HIGH}`, "aria-hidden": "true" })) svg.setAttribute(key, value)
  const px = length => measure(at(length), WIDE)
  write(svg, marks, { at, px, py: px, drawn: new Map(), moves: 0, colors })
  const text = make("span", {}, ...linesOf(name).flat().map(([said, bold]) => make(bold ? "b" : "span", {}, said)))
  return make("li", {}, ...(marks.length ? [svg] : []), text)
}
