// A page that was saved as a file (viz_model/island/page_file.py): its parts are put together here, in the place of the
// server, for what a reader selects; the address says what that is, after the #.
import { decoder } from "./decoder.js"
import { island } from "./island.js"
import { mount as pen } from "./pen.js"
import { store } from "./store.js"

const PLACES = ["layer", "head", "token"]

export function pages(root, { pages, first, pool, model }, arrays) {
  root.classList.add("viz-island")
  const known = []
  for (const part of pool) known.push(joined(part, known)) // what a part has of others stands before it
  let lang = first.lang, side = first.side, seq = 0, nav = 1, options = {}, opened = first.open, chosen = first.place, pageNow = null, typed = "", writer = null
  const page = () => joined((pages[lang] ?? pages[first.lang])[side] ?? Object.values(pages[lang])[0], known)

  function read() {
    const said = new URLSearchParams(location.hash.slice(1))
    if (!said.size) return
    ;[lang, side] = [["lang", lang], ["side", side]].map(([name, now]) => said.get(name) ?? now)
    if (!pages[lang]) lang = first.lang
    if (!pages[lang][side]) side = first.side
    opened = said.getAll("open")
    chosen = Object.fromEntries(PLACES.filter(name => /^\d+$/.test(said.get(name) ?? "")).map(name => [name, Number(said.get(name))]))
    options = Object.fromEntries(Object.keys(page().options).filter(name => said.has(name)).map(name => [name, said.get(name)]))
  }
  function write() {
    const usual = page().options, others = Object.entries(options).filter(([name, value]) => name in usual && usual[name] !== value)
    const said = [["lang", lang], ...(Object.keys(pages[lang]).length > 1 ? [["side", side]] : []), ...Object.entries(chosen), ...others.filter(([name]) => name !== "lang" && name !== "side"), ...opened.map(name => ["open", name])]
    history.replaceState(null, "", `#${new URLSearchParams(said)}`)
  }

  function show(isLed) {
    const held = pageNow = { ...page() }
    const now = isLed ? { ...held.usual, ...chosen } : store.selection
    const place = Object.fromEntries(Object.entries(now).map(([axis, n]) => [axis, Math.min(n, (held.sizes[axis] ?? Infinity) - 1)]))
    const given = { ...held.options, ...options, lang, side }
    for (const part of ["items", "end"]) held[part] = held[part].flatMap(item => caseOf(item, { ...given, ...place }))
    if (typed) held.items = held.items.map(item => ({ ...item, chapters: item.chapters?.map(begunWith) }))
    document.title = `${held.heading}${held.boxes.length ? ` · ${held.boxes[0].text}` : ""}`
    island(root, { ...held, seq, nav, chosen, options: given, open: opened }, arrays, told)
  }
  function told(name, value) {
    if (name === "picked" && value.of in pages[lang] && value.of !== side) return turn({ side: value.of }, { token: value.value })
    if (name !== "told") return
    // Of a long text or a large model there is a part: what is beyond it stays as it was.
    const beyond = Object.entries(pageNow.holds).filter(([axis, [from, to]]) => store.selection[axis] < from || store.selection[axis] >= to)
    if (beyond.length) return void queueMicrotask(() => store.select(Object.fromEntries(beyond.map(([axis, [from, to]]) => [axis, Math.min(Math.max(from, store.selection[axis]), to - 1)]))))
    opened = value.open
    chosen = value.place
    const to = Object.fromEntries(["lang", "side"].filter(one => value.options[one] && value.options[one] !== { lang, side }[one]).map(one => [one, value.options[one]]))
    options = value.options
    if (value.text?.trim()) typed = value.text
    if (Object.keys(to).length) return turn(to, to.side ? {} : chosen)
    if (value.seq > seq) {
      seq = value.seq
      queueMicrotask(() => show(false))
    }
    write()
  }
  // To the other language, or the other stack, whose tokens are others.
  function turn(to, place) {
    ;({ lang, side } = { lang, side, ...to })
    chosen = place
    options = Object.fromEntries(Object.entries(options).filter(([name]) => name !== "lang" && name !== "side"))
    nav++
    write()
    queueMicrotask(() => show(true))
  }
  // The model goes on with what is typed on the page on which it writes; all else is of the text that was saved.
  const begunWith = chapter => ({ ...chapter, marks: chapter.marks.map(mark => mark.toy === "writer" ? { ...mark, data: { ...mark.data, of: { ...mark.data.of, text: typed }, text: typed } } : mark) })
  // It writes here, or what it wrote was recorded: all of it that follows what stands there.
  const story = joined(pages[first.lang][first.side], known), recorded = story.items.flatMap(item => caseOf(item, story.usual)).find(item => item.recorded)?.recorded
  const answered = (_, question) => setTimeout(() => {
    const { ids, edits, temperature, asked } = question
    const places = model ? (writer ??= decoder(model, arrays)).places(question) : (recorded?.[`${edits} ${temperature}`] ?? []).slice(ids.length)
    pen(root, { asked, places }, null, answered)
  })
  pen(root, { asked: 0 }, null, answered)
  addEventListener("hashchange", () => { read(); nav++; show(true) })
  read()
  show(true)
}

// What stands in a place: of a part with cases the one that is asked for, else the first.
function caseOf(item, given) {
  if (item.kind === "when") return (item.of[given[item.axis]] ?? Object.values(item.of)[0]).flatMap(one => caseOf(one, given))
  const own = { ...item }
  if (item.items) own.items = item.items.flatMap(one => caseOf(one, given))
  if (item.columns) own.columns = item.columns.map(column => column.flatMap(one => caseOf(one, given)))
  return own
}

function joined(value, known) {
  if (value === null || typeof value !== "object") return value
  if ("same" in value) return known[value.same]
  for (const name in value) value[name] = joined(value[name], known)
  return value
}
