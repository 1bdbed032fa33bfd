// What stands over and under a picture: its heading, a note, and its legend, each name beside marks that look as what
// it names.
import { write } from "./marks.js"
import { store } from "./store.js"
import { isArray, measure } from "./cases.js"
import { linesOf } from "./writing.js"

const [WIDE, HIGH] = [28, 14]

export function keys(made, colours) {
  const { at, header, over, below } = made
  const entries = (at(header.keys) ?? []).map(({ name, marks }) => ({ name: at(name), marks })), heading = at(header.heading), note = header.chooses ? chosen(made) : at(header.note)
  // By the numbers themselves: sent with more selections, the same ones have another place.
  const now = JSON.stringify([entries, heading, note], (_, value) => isArray(value) ? [...made.arrays[value.array].values] : value)
  if (now === made.keyed && colours === made.keyColours) return
  Object.assign(made, { keyed: now, keyColours: colours })
  const line = (className, text) => {
    const made = document.createElement("div")
    made.className = className
    made.textContent = text
    return made
  }
  const list = document.createElement("ul")
  list.className = "keys"
  for (const { name, marks } of entries) list.append(entry(name, marks, at, colours))
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

function entry(name, marks, at, colours) {
  const made = document.createElement("li"), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), text = document.createElement("span")
  for (const [key, value] of Object.entries({ width: WIDE, height: HIGH, viewBox: `0 0 ${WIDE} ${HIGH}`, "aria-hidden": "true" })) svg.setAttribute(key, value)
  const px = length => measure(at(length), WIDE)
  write(svg, marks, { at, px, py: px, drawn: new Map(), moves: 0, colours })
  for (const [said, bold] of linesOf(name).flat()) {
    const part = document.createElement(bold ? "b" : "span")
    part.textContent = said
    text.append(part)
  }
  made.append(...(marks.length ? [svg] : []), text)
  return made
}
