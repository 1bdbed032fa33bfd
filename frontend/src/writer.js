// It writes: places that the server drew ahead are shown one by one, with the likeliest tokens of each.
import { written } from "./digits.js"
import { child, say } from "./nodes.js"
import { ask } from "./pen.js"

const AHEAD = 12, FEW = 8, MANY = 40 // places that are kept ahead while it writes; places that are asked for at once
const SPEEDS = [2, 4.5, 9, 18, 30] // tokens a second
const decoder = new TextDecoder()
const bytes = hex => Uint8Array.from(hex.match(/../g) ?? [], two => parseInt(two, 16))

// What goes on by itself: each turn says after how many ms the next one comes; a turn that does not say it was the last.
export function clock(part, turn, show) {
  let timer = 0
  function run(wait) {
    clearTimeout(timer)
    timer = setTimeout(() => {
      const next = part.isConnected ? turn() : undefined
      next === undefined ? stop() : run(next)
    }, wait)
    show()
  }
  function stop() {
    clearTimeout(timer)
    timer = 0
    show()
  }
  part.ends = () => clearTimeout(timer)
  return { run, stop, get isRunning() { return timer > 0 } }
}

export function slider(parent, n, { value, least = 0, most, by = 1, label = "" }, changed) {
  const made = child(parent, n, "input", "slider")
  Object.assign(made, { type: "range", min: least, max: most, step: by, value, oninput: () => changed(+made.value) })
  if (label) made.setAttribute("aria-label", label)
  return made
}

// One text as it grows: `edits` are what is taken out of the model. `show` is called with every change.
export function story(show) {
  let of = null, places = [], seed = 1, edits = "", wanted = 0, version = 0
  function want(n) {
    const known = places.findIndex(place => !place.drawn), from = known < 0 ? places.length : known, asked = version
    wanted = n
    ask({ ...of, ids: places.slice(0, from).map(place => place.drawn.id), temperature: text.temperature, n, seed, edits }, answer => {
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
  const text = {
    at: 0,
    temperature: 0.75,
    get drawn() { return places.slice(0, text.at).map(place => place.drawn) },
    get isOver() { return !!places[text.at - 1]?.drawn.ends },
    get isWaiting() { return !text.isOver && !places[text.at]?.drawn },
    get place() { return text.isOver ? null : places[text.at] },
    get words() { return decoder.decode(bytes(text.drawn.map(token => token.bytes).join(""))) },
    begin(question, change = "") {
      ;[of, edits, places, text.at] = [question, change, [], 0]
      anew(true)
    },
    again(other = false) {
      if (other) [seed, places] = [seed + 1, places.slice(0, 1).map(({ drawn, ...place }) => place)]
      text.at = 0
      anew(!places.length)
    },
    ahead() { if (!wanted && !places.at(-1)?.drawn?.ends && places.length - text.at < AHEAD) want(places.length - text.at < 2 ? FEW : MANY) },
    // What was drawn stands on the page; false where it is not known yet.
    step() {
      const isKnown = !text.isOver && !text.isWaiting
      text.at += isKnown
      text.ahead()
      return isKnown
    },
    choose(token) {
      places.splice(text.at, places.length, { ...text.place, drawn: token })
      text.at++
      anew(!token.ends)
    },
    warm(degrees) { // what is not shown yet is drawn anew
      text.temperature = degrees
      places.length = Math.min(places.length, text.at + 1)
      if (places[text.at]) delete places[text.at].drawn
      anew(false)
    },
  }
  return text
}

// The page on which it writes, and its tools.
export function writer(part, data) {
  let me = null, key = "", isChosen = false, pace = 220
  const paper = child(part, 0, "div", "paper"), given = child(paper, 0, "span", "given"), own = child(paper, 1, "span", "own"), cursor = child(paper, 2, "i", "cursor"), ended = child(paper, 3, "span", "ended")
  const below = child(part, 1, "div", "below"), list = child(below, 0, "div", "likeliest"), tools = child(below, 1, "div", "tools")
  const [go, one, again, over] = ["go", "one", "again", "restart"].map((name, n) => child(tools, n, "button", name))
  const text = story(show), isFull = () => text.isOver || text.at >= (data.most ?? Infinity) // a file holds so many
  const tool = (n, name, numbers, value, changed) => {
    const label = child(tools, n, "label", name)
    return { label, title: child(label, 0, "span"), slider: slider(label, 1, { value, most: numbers.length - 1 }, k => changed(numbers[k])), value: child(label, 2, "b") }
  }
  const heat = tool(4, "heat", data.temperatures, 0, degrees => text.warm(degrees))
  const speed = tool(5, "speed", SPEEDS, 1, tokens => { pace = 1000 / tokens; show() })

  const wait = () => text.isWaiting ? 30 : pace * 0.55
  const time = clock(part, () => {
    if (isFull()) return undefined
    isChosen = !isChosen && !text.isWaiting // the token that was drawn, for a moment, before it stands on the page
    if (isChosen) return pace * 0.45
    text.step()
    return isFull() ? undefined : wait()
  }, show)
  const run = () => time.run(wait())
  function stop() {
    isChosen = false
    time.stop()
  }
  const single = () => { if (!isFull() && !text.step() && !text.isOver && part.isConnected) setTimeout(single, 40); else show() }
  go.onclick = () => time.isRunning ? stop() : run()
  one.onclick = () => { stop(); single() }
  again.onclick = () => { stop(); text.again(); run() }
  over.onclick = () => { stop(); text.again(true) }
  given.spellcheck = false
  given.setAttribute("role", "textbox")
  given.oncompositionstart = () => { given.composing = true }
  given.oncompositionend = () => { given.composing = false; given.oninput() }
  given.oninput = () => { if (!given.composing) { stop(); me.type({ text: given.textContent }, true) } }
  given.onkeydown = event => { if (event.key === "Enter" && !event.isComposing) { event.preventDefault(); run() } }
  paper.onclick = event => event.target !== given && data.types && given.focus()

  function show() {
    const { words } = data
    say(own, text.words)
    say(ended, text.isOver ? ` ${words.ended}` : "")
    cursor.hidden = text.isOver
    paper.scrollTop = paper.scrollHeight
    likeliest(list, text.place, { data, temperature: text.temperature, isChosen, choose: data.most ? null : token => { stop(); text.choose(token) } })
    for (const [button, name] of [[go, time.isRunning ? "pause" : "write"], [one, "one"], [again, "again"], [over, "over"]]) say(button, words[name])
    again.disabled = over.disabled = !text.at
    go.disabled = one.disabled = isFull()
    heat.label.hidden = !data.draws || !!data.most
    over.hidden = !!data.most
    say(heat.title, words.temperature)
    say(heat.value, String(text.temperature))
    heat.slider.value = data.temperatures.indexOf(text.temperature)
    say(speed.title, words.speed)
    say(speed.value, String(Math.round(1000 / pace)))
    part.dataset.shown = text.at
  }

  return (now, { me: its, lights }) => {
    ;[data, me] = [now, its]
    part.dataset.lights = lights.join(" ")
    given.hidden = !data.types && !data.text // what it reads is a picture
    given.setAttribute("aria-label", me.page.boxes[0]?.label ?? "")
    given.contentEditable = data.types ? "plaintext-only" : "false"
    const other = JSON.stringify(data.of)
    if (other !== key) {
      key = other
      const writes = time.isRunning // pressed before what was typed last had come back
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
