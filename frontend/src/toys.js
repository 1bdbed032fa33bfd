// What is tried by hand in a chapter: three numbers before those of the run, texts that write themselves, a slider.
import { written } from "./digits.js"
import { child, children, say } from "./nodes.js"
import { clock, slider, story, writer } from "./writer.js"

const PACE = 180 // ms a token, side by side

// A number of a list, to be dragged; it is returned to be shown.
function dragged(cell, list, n, most, name, show) {
  const number = child(cell, 0, "span", "number")
  slider(cell, 1, { value: list[n], least: -most, most, by: 0.5, label: `${name} ${n + 1}` }, now => { list[n] = now; show() })
  return number
}
const tinted = (element, value, most, form) => {
  say(element, written(value, form))
  element.className = `number ${value < 0 ? "minus" : "plus"}`
  element.style.setProperty("--much", Math.min(1, Math.abs(value) / most))
}
const sum = list => list.reduce((a, b) => a + b)

// Two lists, their products, and the sum.
function dot(part, data) {
  const lists = [[2, 1, -1], [1.5, 2, -1]], toy = child(part, 0, "div", "toy dot")
  const [a, b, products] = data.names.map((name, r) => {
    const row = child(toy, r, "div", lists[r] ? "toyrow" : "toyrow products")
    say(child(row, 0, "span", "toyname"), name)
    return lists[0].map((_, n) => lists[r] ? dragged(child(row, n + 1, "label", "toycell"), lists[r], n, 2, name, show) : child(row, n + 1, "span", "number"))
  })
  const total = child(toy, 3, "div", "toysum")
  function show() {
    const found = lists[0].map((value, n) => value * lists[1][n])
    a.forEach((number, n) => tinted(number, lists[0][n], 2, "1"))
    b.forEach((number, n) => tinted(number, lists[1][n], 2, "1"))
    products.forEach((number, n) => tinted(number, found[n], 4, "2"))
    const terms = found.map((value, n) => n ? `${value < 0 ? " − " : " + "}${written(Math.abs(value), "2")}` : written(value, "2"))
    say(total, `${terms.join("")} = ${written(sum(found), "2")}`)
  }
  show()
}

// Three scores, e to the power of each, and its share of the total.
function softmax(part, data) {
  const scores = [2, 1, 0], toy = child(part, 0, "div", "toy softmax"), total = child(toy, 3, "div", "softtotal")
  const rows = scores.map((_, n) => {
    const row = child(toy, n, "label", "softrow"), number = dragged(row, scores, n, 4, data.score, show)
    return { number, power: child(row, 2, "span", "power"), bar: child(child(row, 3, "span", "track"), 0, "i"), share: child(row, 4, "b") }
  })
  function show() {
    const powers = scores.map(Math.exp)
    rows.forEach(({ number, power, bar, share }, n) => {
      say(number, written(scores[n], "1"))
      power.innerHTML = `e<sup>${written(scores[n], "1")}</sup> = ${written(powers[n], "2")}`
      bar.style.width = `${100 * powers[n] / sum(powers)}%`
      say(share, written(powers[n] / sum(powers), "share"))
    })
    say(total, `${powers.map(value => written(value, "2")).join(" + ")} = ${written(sum(powers), "2")}`)
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
  const made = slider(bar, 0, { value: part.n, most: data.moments.length - 1, label }, n => { part.n = n; show() })
  const marks = child(bar, 1, "div", "marks")
  data.moments.forEach(({ step }, n) => say(child(marks, n, "span"), written(step, "whole")))
  show()
}

// Whole and broken write side by side, from the same random numbers.
function broken(part, now) {
  let chosen = 0, key = "", beat = 0
  const parts = child(part, 0, "div", "choices"), pages = child(part, 1, "div", "pages"), go = child(part, 2, "button", "go")
  const sides = [0, 1].map(n => {
    const side = child(pages, n, "div", "side"), name = child(side, 0, "div", "listname"), paper = child(side, 1, "div", "paper")
    return { name, paper, text: story(show) }
  })
  const open = () => sides.map(({ text }) => text).filter(text => !text.isOver && text.at < now.most)
  // Neither goes ahead of the other: what is not known yet is waited for.
  const time = clock(part, () => {
    const texts = open(), isKnown = !texts.some(text => text.isWaiting)
    texts.forEach(text => isKnown ? text.step() : text.ahead())
    return texts.length ? PACE : undefined
  }, show)
  function begin() {
    sides.forEach(({ text }, n) => text.begin(now.of, n ? now.parts[chosen][0] : ""))
    time.stop()
  }
  go.onclick = () => {
    if (time.isRunning) return time.stop()
    if (!open().length) sides.forEach(({ text }) => text.again())
    time.run(PACE)
  }
  function show() {
    children(parts, now.parts, "button", (button, [, label], n) => pressed(button, n === chosen, label, () => { chosen = n; begin(); time.run(PACE) }))
    const [whole, other] = sides.map(({ text }) => text.drawn), differs = whole.some((token, n) => other[n] && token.id !== other[n].id)
    sides.forEach(({ name, paper, text }, side) => {
      say(name, side ? now.parts[chosen][2] : now.whole)
      say(child(paper, 0, "span", "given"), now.text)
      say(child(paper, 1, "span", "own"), text.words)
      paper.classList.toggle("differs", side === 1 && differs)
    })
    say(go, time.isRunning ? now.words.pause : now.words.write)
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

// A button that is pressed or not.
function pressed(button, isPressed, label, onclick) {
  button.classList.toggle("chosen", isPressed)
  button.setAttribute("aria-pressed", isPressed)
  button.onclick = onclick
  if (label) say(button, label)
}

// The same text with the other of two models.
function twin(part, { data }, { me }) {
  children(part, data.labels, "button", (button, label, n) => pressed(button, n === 0, label, () => n && me.tell("picked", { of: "view", value: { model: data.models[n] } })))
}

// Pieces of a text as they follow each other, cut from the beat on that says so.
function pieces(part, { data, act }, { place, select, me }) {
  const list = child(part, 0, "div", "pieces"), from = place.beat
  list.classList.toggle("cut", from >= 1)
  list.classList.toggle("named", from >= 2)
  children(list, data.tokens, "button.piece", (one, { label, id, bytes }, n) => {
    pressed(one, n === place.token - data.first, "", () => select({ token: n + data.first }))
    one.classList.toggle("split", !!bytes && from >= data.splits)
    say(child(one, 0, "b"), label)
    say(child(one, 1, "span"), from >= data.splits && bytes ? bytes : id)
  })
  say(child(part, 1, "div", "rest"), data.rest)
}

// Those that keep something are made once, and then told what is new.
const kept = make => (part, { data }, state) => (part.made ??= make(part, data) ?? (() => {}))(data, state)
export const TOYS = { dot: kept(dot), softmax: kept(softmax), broken: kept(broken), writer: kept(writer), moments, pieces, twin }
