// What is tried by hand in a chapter: three numbers before those of the run, texts that write themselves, a slider.
import { written } from "./digits.js"
import { child, children, say } from "./nodes.js"
import { story, writer } from "./writer.js"

function slider(parent, n, { value, least, most, by = 0.5, label }, changed) {
  const made = child(parent, n, "input", "slider")
  Object.assign(made, { type: "range", min: least, max: most, step: by, value })
  made.setAttribute("aria-label", label)
  made.oninput = () => changed(+made.value)
  return made
}
const tinted = (element, value, most) => {
  element.className = `number ${value < 0 ? "minus" : "plus"}`
  element.style.setProperty("--much", Math.min(1, Math.abs(value) / most))
}

// Two lists, their products, and the sum.
function dot(part, data) {
  const lists = [[2, 1, -1], [1.5, 2, -1]], toy = child(part, 0, "div", "toy dot")
  const rows = lists.map((list, r) => {
    const row = child(toy, r, "div", "toyrow")
    say(child(row, 0, "span", "toyname"), data.names[r])
    return list.map((value, n) => {
      const cell = child(row, n + 1, "label", "toycell"), number = child(cell, 0, "span", "number")
      slider(cell, 1, { value, least: -2, most: 2, label: `${data.names[r]} ${n + 1}` }, now => { list[n] = now; show() })
      return number
    })
  })
  const products = child(toy, 2, "div", "toyrow products"), sum = child(toy, 3, "div", "toysum")
  say(child(products, 0, "span", "toyname"), data.names[2])
  const found = lists[0].map((_, n) => child(products, n + 1, "span", "number"))
  function show() {
    const each = lists[0].map((value, n) => value * lists[1][n])
    rows.forEach((numbers, r) => numbers.forEach((number, n) => { say(number, written(lists[r][n], "1")); tinted(number, lists[r][n], 2) }))
    each.forEach((value, n) => { say(found[n], written(value, "2")); tinted(found[n], value, 4) })
    say(sum, `${each.map((value, n) => n ? `${value < 0 ? " − " : " + "}${written(Math.abs(value), "2")}` : written(value, "2")).join("")} = ${written(each.reduce((a, b) => a + b), "2")}`)
  }
  show()
}

// Three scores, e to the power of each, and its share of the total.
function softmax(part, data) {
  const scores = [2, 1, 0], toy = child(part, 0, "div", "toy softmax")
  const rows = scores.map((value, n) => {
    const row = child(toy, n, "label", "softrow"), number = child(row, 0, "span", "number")
    slider(row, 1, { value, least: -4, most: 4, label: `${data.score} ${n + 1}` }, now => { scores[n] = now; show() })
    return { number, power: child(row, 2, "span", "power"), bar: child(child(row, 3, "span", "track"), 0, "i"), share: child(row, 4, "b") }
  })
  const total = child(toy, 3, "div", "softtotal")
  function show() {
    const powers = scores.map(Math.exp), sum = powers.reduce((a, b) => a + b)
    rows.forEach(({ number, power, bar, share }, n) => {
      say(number, written(scores[n], "1"))
      power.innerHTML = `e<sup>${written(scores[n], "1")}</sup> = ${written(powers[n], "2")}`
      bar.style.width = `${100 * powers[n] / sum}%`
      say(share, written(powers[n] / sum, "share"))
    })
    say(total, `${powers.map(value => written(value, "2")).join(" + ")} = ${written(sum, "2")}`)
  }
  show()
}

// Moments of a training: what was written after so many steps.
function moments(part, { data, label }) {
  part.n ??= 0
  const words = child(part, 0, "div", "moment"), bar = child(part, 1, "div", "steps")
  const show = () => {
    const { step, loss, text } = data.moments[part.n]
    say(child(words, 0, "div", "listname"), data.after.replace("{step}", written(step, "whole")))
    const paper = child(words, 1, "div", "paper")
    say(child(paper, 0, "span", "given"), data.beginning)
    say(child(paper, 1, "span", "own"), text)
    say(child(words, 2, "div", "loss"), data.loss.replace("{loss}", written(loss, "2")))
    if (made) made.value = part.n
  }
  const made = slider(bar, 0, { value: part.n, least: 0, most: data.moments.length - 1, by: 1, label }, n => { part.n = n; show() })
  const marks = child(bar, 1, "div", "marks")
  data.moments.forEach(({ step }, n) => say(child(marks, n, "span"), written(step, "whole")))
  show()
}

// Whole and broken write side by side, from the same random numbers.
function broken(part) {
  let chosen = 0, timer = 0, key = "", beat = 0, now = null
  const parts = child(part, 0, "div", "choices"), pages = child(part, 1, "div", "pages"), go = child(part, 2, "button", "go")
  go.type = "button"
  const sides = [0, 1].map(n => {
    const side = child(pages, n, "div", "side"), name = child(side, 0, "div", "listname"), paper = child(side, 1, "div", "paper")
    return { name, paper, text: story(() => show()) }
  })
  const open = () => sides.filter(({ text }) => !text.isOver && text.at < now.most)
  function begin() {
    sides.forEach(({ text }, n) => text.begin(now.of, n ? now.parts[chosen][0] : ""))
    stop()
  }
  function run() {
    timer = setTimeout(() => {
      if (!part.isConnected) return
      const texts = open().map(({ text }) => text)
      if (!texts.length) return stop()
      // Neither goes ahead of the other: what is not known yet is waited for.
      const isKnown = !texts.some(text => text.isWaiting)
      texts.forEach(text => isKnown ? text.step() : text.ahead())
      run()
    }, 180)
    show()
  }
  function stop() {
    clearTimeout(timer)
    timer = 0
    show()
  }
  go.onclick = () => {
    if (timer) return stop()
    if (!open().length) sides.forEach(({ text }) => text.again())
    run()
  }
  part.ends = () => clearTimeout(timer)
  function show() {
    now.parts.forEach(([, label], n) => {
      const button = child(parts, n, "button")
      Object.assign(button, { type: "button", className: n === chosen ? "chosen" : "", onclick: () => { chosen = n; begin(); run() } })
      button.setAttribute("aria-pressed", n === chosen)
      say(button, label)
    })
    const [whole, other] = sides.map(({ text }) => text.drawn)
    sides.forEach(({ name, paper, text }, side) => {
      say(name, side ? now.parts[chosen][2] : now.whole)
      say(child(paper, 0, "span", "given"), now.text)
      const from = whole.findIndex((token, n) => other[n] && token.id !== other[n].id)
      say(child(paper, 1, "span", "own"), text.text)
      paper.classList.toggle("differs", side === 1 && from >= 0)
    })
    say(go, timer ? now.words.pause : now.words.write)
  }
  return (data, { place }) => {
    now = data
    // A beat that speaks of a part takes out that one as it begins.
    const other = JSON.stringify([now.of, now.parts]), wanted = (beat === place.beat ? undefined : now.named[place.beat]) ?? chosen
    beat = place.beat
    if (other === key && wanted === chosen) return
    key = other
    chosen = Math.min(wanted, now.parts.length - 1)
    begin()
  }
}

// The same text with the other of two models.
function twin(part, { data }, { me }) {
  data.labels.forEach((label, n) => {
    const button = child(part, n, "button", n ? "" : "chosen")
    button.type = "button"
    button.setAttribute("aria-pressed", n === 0)
    say(button, label)
    button.onclick = () => n && me.tell("picked", { of: "view", value: { model: data.models[n] } })
  })
}

// Pieces of a text as they follow each other, cut from the beat on that says so.
function pieces(part, { data, act }, { place, select, me }) {
  const list = child(part, 0, "div", "pieces"), from = place.beat
  list.classList.toggle("cut", from >= 1)
  list.classList.toggle("named", from >= 2)
  children(list, data.tokens, "button.piece", (one, { label, id, bytes }, n) => {
    one.type = "button"
    one.classList.toggle("chosen", n === place.token - data.first)
    one.classList.toggle("split", !!bytes && from >= data.splits)
    one.setAttribute("aria-pressed", n === place.token - data.first)
    one.onclick = () => select({ token: n + data.first })
    say(child(one, 0, "b"), label)
    say(child(one, 1, "span"), from >= data.splits && bytes ? bytes : id)
  })
  say(child(part, 1, "div", "rest"), data.rest)
}

// Those that keep something are made once, and then told what is new.
const kept = make => (part, { data }, state) => (part.made ??= make(part, data) ?? (() => {}))(data, state)
export const TOYS = { dot: kept(dot), softmax: kept(softmax), broken: kept(broken), writer: kept(writer), moments, pieces, twin }
