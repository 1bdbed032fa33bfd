// It writes: places that the server drew ahead are shown one by one, with the likeliest tokens of each.
import { written } from "./digits.js"
import { child, say } from "./nodes.js"
import { ask } from "./pen.js"

const AHEAD = 12, FEW = 8, MANY = 40 // places that are kept ahead while it writes; places that are asked for at once
const decoder = new TextDecoder()
const bytes = hex => Uint8Array.from(hex.match(/../g) ?? [], two => parseInt(two, 16))

// One text as it grows: `edits` are what is taken out of the model. `show` is called with every change.
export function story(show) {
  let of = null, places = [], at = 0, seed = 1, temperature = 0.75, edits = "", wanted = 0, version = 0
  const drawn = () => places.slice(0, at).map(place => place.drawn)
  const isOver = () => at > 0 && !!places[at - 1]?.drawn.ends
  function want(n) {
    const known = places.findIndex(place => !place.drawn), from = known < 0 ? places.length : known, asked = version
    wanted = n
    ask({ ...of, ids: places.slice(0, from).map(place => place.drawn.id), temperature, n, seed, edits }, answer => {
      if (asked !== version) return
      wanted = 0
      places.splice(from, places.length, ...answer.places)
      show()
    })
  }
  // What was asked for is no longer wanted; `more` says whether the next place is to be asked for.
  function anew(more) {
    version++
    wanted = 0
    if (more) want(0)
    show()
  }
  return {
    get at() { return at },
    get place() { return isOver() ? null : places[at] },
    get isOver() { return isOver() },
    get isWaiting() { return !places[at]?.drawn && !isOver() },
    get text() { return decoder.decode(bytes(drawn().map(token => token.bytes).join(""))) },
    get temperature() { return temperature },
    get drawn() { return drawn() },
    begin(question, change = "") {
      ;[of, edits, places, at] = [question, change, [], 0]
      anew(true)
    },
    again(other = false) {
      if (other) [seed, places] = [seed + 1, places.slice(0, 1).map(({ drawn, ...place }) => place)]
      at = 0
      anew(!places.length)
    },
    ahead() { if (!wanted && !places.at(-1)?.drawn?.ends && places.length - at < AHEAD) want(places.length - at < 2 ? FEW : MANY) },
    // What was drawn stands on the page; false where it is not known yet.
    step() {
      const isKnown = !isOver() && !!places[at]?.drawn
      at += isKnown
      this.ahead()
      return isKnown
    },
    choose(token) {
      places.splice(at, places.length, { ...places[at], drawn: token })
      at++
      anew(!token.ends)
    },
    warm(degrees) { // what is not shown yet is drawn anew
      temperature = degrees
      places.length = Math.min(places.length, at + 1)
      if (places[at]) delete places[at].drawn
      anew(false)
    },
  }
}

// The page on which it writes, and its tools.
export function writer(part) {
  let me = null, data = null, key = "", timer = 0, isChosen = false, pace = 220
  const paper = child(part, 0, "div", "paper"), given = child(paper, 0, "span", "given"), own = child(paper, 1, "span", "own"), cursor = child(paper, 2, "i", "cursor"), ended = child(paper, 3, "span", "ended")
  const below = child(part, 1, "div", "below"), list = child(below, 0, "div", "likeliest"), tools = child(below, 1, "div", "tools")
  const [go, one, again, over] = ["go", "one", "again", "restart"].map((name, n) => Object.assign(child(tools, n, "button", name), { type: "button" }))
  const [heat, speed] = ["heat", "speed"].map((name, n) => {
    const label = child(tools, 4 + n, "label", name), title = child(label, 0, "span"), slider = child(label, 1, "input", "slider"), value = child(label, 2, "b")
    return { label, title, slider, value }
  })
  Object.assign(heat.slider, { type: "range", min: 0, step: 1 })
  Object.assign(speed.slider, { type: "range", min: 0, max: 4, step: 1, value: 1 })
  const SPEEDS = [2, 4.5, 9, 18, 30] // tokens a second
  const text = story(() => show()), isFull = () => text.isOver || text.at >= (data?.most ?? Infinity) // a file holds so many

  function run() {
    timer = setTimeout(() => {
      if (!part.isConnected || isFull()) return stop()
      if (text.isWaiting) { text.ahead(); return run() }
      isChosen = true // the token that was drawn, for a moment, before it stands on the page
      show()
      timer = setTimeout(() => {
        isChosen = false
        text.step()
        show()
        isFull() ? stop() : run()
      }, pace * 0.45)
    }, text.isWaiting ? 30 : pace * 0.55)
  }
  function stop() {
    clearTimeout(timer)
    timer = 0
    isChosen = false
    show()
  }
  function single() {
    stop()
    const wait = () => { if (!isFull() && !text.step() && !text.isOver && part.isConnected) setTimeout(wait, 40); else show() }
    wait()
  }
  go.onclick = () => timer ? stop() : (run(), show())
  one.onclick = single
  again.onclick = () => { stop(); text.again(); run(); show() }
  over.onclick = () => { stop(); text.again(true) }
  heat.slider.oninput = () => text.warm(data.temperatures[+heat.slider.value])
  speed.slider.oninput = () => { pace = 1000 / SPEEDS[+speed.slider.value]; show() }
  given.spellcheck = false
  given.setAttribute("role", "textbox")
  given.oncompositionstart = () => { given.composing = true }
  given.oncompositionend = () => { given.composing = false; given.oninput() }
  given.oninput = () => { if (!given.composing) { stop(); me.type({ text: given.textContent }, true) } }
  given.onkeydown = event => { if (event.key === "Enter" && !event.isComposing) { event.preventDefault(); run(); show() } }
  paper.onclick = event => event.target !== given && data.types && given.focus()

  function show() {
    if (!data) return
    const { words } = data, place = text.place
    say(own, text.text)
    say(ended, text.isOver ? ` ${words.ended}` : "")
    cursor.hidden = text.isOver
    paper.scrollTop = paper.scrollHeight
    likeliest(list, place, { data, temperature: text.temperature, isChosen, choose: data.most ? null : token => { stop(); text.choose(token) } })
    for (const [button, name] of [[go, timer ? "pause" : "write"], [one, "one"], [again, "again"], [over, "over"]]) say(button, words[name])
    again.disabled = over.disabled = !text.at
    go.disabled = one.disabled = isFull()
    heat.label.hidden = !data.draws || !!data.most
    over.hidden = !!data.most
    say(heat.title, words.temperature)
    say(heat.value, String(text.temperature))
    heat.slider.max = data.temperatures.length - 1
    heat.slider.value = data.temperatures.indexOf(text.temperature)
    say(speed.title, words.speed)
    say(speed.value, String(Math.round(1000 / pace)))
    part.dataset.shown = text.at
  }
  part.ends = () => clearTimeout(timer)

  return (now, { me: its, lights }) => {
    ;[data, me] = [now, its]
    part.dataset.lights = lights.join(" ")
    given.hidden = !data.types && !data.text // what it reads is a picture
    given.setAttribute("aria-label", me.page.boxes[0]?.label ?? "")
    given.contentEditable = data.types ? "plaintext-only" : "false"
    const other = JSON.stringify(data.of)
    if (other !== key) {
      key = other
      const writes = !!timer // pressed before what was typed last had come back
      stop()
      if (!data.draws) text.warm(0)
      text.begin(data.of)
      if (writes) run()
    }
    const typed = me.typed.text ?? data.text
    if (part.getRootNode().activeElement !== given) say(given, data.types ? typed : data.text)
    show()
  }
}

// The likeliest tokens of a place as bars: a click chooses one.
function likeliest(list, place, { data, temperature, isChosen, choose }) {
  const degree = data.temperatures.indexOf(temperature), rows = (place?.tokens ?? []).map((token, n) => ({ token, p: place.p[degree][n] / 10000 }))
  const drawn = isChosen && place?.drawn
  if (drawn && !rows.some(({ token }) => token.id === drawn.id)) rows.push({ token: drawn, p: drawn.p[degree] / 10000, isOther: true })
  say(child(list, 0, "div", "listname"), data.words.likeliest)
  for (let n = 0; n < 6; n++) {
    const row = child(list, n + 1, "button"), found = rows[n]
    row.type = "button"
    row.className = `likely${found?.isOther ? " other" : ""}${drawn && found?.token.id === drawn.id ? " chosen" : ""}`
    row.style.visibility = found ? "" : "hidden"
    if (!found) continue
    say(child(row, 0, "span", "token"), found.token.ends ? data.words.end : found.token.label)
    child(child(row, 1, "span", "track"), 0, "i").style.width = `${100 * found.p}%`
    say(child(row, 2, "b"), written(found.p, "percent"))
    row.disabled = !choose
    row.onclick = () => choose(found.token)
  }
}
