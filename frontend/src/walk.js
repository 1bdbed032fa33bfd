// A story in chapters (viz_model/island/beats.py). A reader is at a place: chapter, beat, token, and whatever else one may
// select. Next changes the place, and what stands there moves from the old place to the new one; nothing else moves it.
import { filled, write } from "./lines.js"
import { child, children, make } from "./nodes.js"
import { pick } from "./pick.js"
import { paint } from "./stage.js"
import { store } from "./store.js"
import { palette, watched } from "./theme.js"
import { clock } from "./writer.js"

const MOTION = 1200 // ms of a change
const [WIDE, HIGH] = [760, 430] // of a picture; on a narrow screen it is less wide
const WORDS = 200, LETTERS = 350 // read in a minute

export function walk(me, root, item) {
  root.walk ??= create(root)
  root.walk.take(me, item)
}

function create(root) {
  let me = null, story = null, at = null, from = null, begun = -Infinity, frame = 0, lit = "", passed = "", guesses = {}, run = null, message = null
  root.className = "walk"
  const chapters = child(root, 0, "nav", "chapters"), stage = child(root, 1, "div", "stage"), ground = child(stage, 0, "div", "ground")
  const foot = child(root, 2, "div", "foot"), words = child(foot, 0, "div", "words"), said = child(words, 0, "div", "said prose"), guess = child(words, 1, "div", "guess")
  const buttons = child(foot, 1, "div", "buttons")
  const [back, count, play, next] = ["button", "span", "button", "button"].map((tag, n) => child(buttons, n, tag, ["back", "count", "play", "next"][n]))
  said.setAttribute("aria-live", "polite")

  const selected = () => ({ ...me.place, ...at })
  const told = (said, place = selected()) => filled(said, { page: me.page, arrays: me.arrays, place })
  const chapter = () => story.chapters[at.chapter], beat = () => chapter().beats[at.beat - 1]
  const named = (n = at.chapter, of = at.beat) => `${story.chapters[n].name}.${of}`
  const follow = place => Object.fromEntries(Object.entries(story.follow).map(([axis, [, table]]) => [axis, pick(table, place, me.arrays) ?? 0]))
  const asked = () => beat().guess && guesses[named()]
  const isHeld = () => !!beat().guess && asked()?.answer === undefined

  // To another place. Within a chapter things move there from where they are; a chapter begins as its entry 0 says, and
  // what an answered question shows begins as the beat before.
  function go(to, before = selected()) {
    at = to
    from = before.chapter === at.chapter ? before : { ...selected(), beat: at.beat - 1 }
    begun = matchMedia("(prefers-reduced-motion: reduce)").matches ? -Infinity : performance.now()
    speak()
    draw()
  }
  // Past a question, what it would have shown stands above the next words: nobody misses it who does not guess.
  function step(by) {
    const missed = by > 0 && isHeld() ? told(beat()) : ""
    let [n, of] = [at.chapter, at.beat + by]
    if (of < 1) of = story.chapters[--n]?.beats.length
    else if (of > chapter().beats.length) [n, of] = [n + 1, 1]
    if (!story.chapters[n]) return false
    turn(n, of, missed)
    return true
  }
  function turn(n, of, missed = "") {
    passed = missed
    if (n !== at.chapter) me.choose("chapter", story.chapters[n].name)
    me.choose("beat", String(of))
    go({ ...at, chapter: n, beat: of })
  }
  const select = act => Object.keys(act).every(axis => axis in at) ? go({ ...at, ...act }) : store.select(act)

  // A beat stays for as long as its words take to read, and for its motion.
  const film = clock(root, () => {
    if (!step(1)) return undefined
    const n = what => said.textContent.match(what)?.length ?? 0, minutes = n(/[^\s\u2e80-\uffef]+/g) / WORDS + n(/[\u2e80-\uffef]/g) / LETTERS
    return 60000 * minutes + MOTION
  }, () => story && speak())
  function walked(by) {
    film.stop()
    step(by)
  }
  next.onclick = () => walked(1)
  back.onclick = () => walked(-1)
  play.onclick = () => film.isRunning ? film.stop() : film.run(400)
  const key = event => {
    if (!root.isConnected) return document.removeEventListener("keydown", key)
    const target = event.composedPath()[0]
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || target.isContentEditable) return
    const by = event.key === " " && target.tagName !== "BUTTON" && target.tagName !== "SUMMARY" ? 1 : { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[event.key]
    if (!by) return
    event.preventDefault()
    walked(by)
  }
  document.addEventListener("keydown", key)
  let touch = null
  stage.addEventListener("touchstart", event => { touch = event.composedPath()[0].tagName === "INPUT" ? null : event.touches[0] }, { passive: true })
  stage.addEventListener("touchend", event => {
    const by = touch ? event.changedTouches[0].clientX - touch.clientX : 0
    if (Math.abs(by) > 60) walked(by < 0 ? 1 : -1)
  })
  // What a word names lights up while it is pointed at.
  const light = event => {
    const now = event.target.closest?.("[data-part]")?.dataset.part ?? ""
    if (now !== lit) { lit = now; draw() }
  }
  for (const name of ["pointerover", "focusin", "click"]) said.addEventListener(name, light)
  said.addEventListener("pointerleave", light)

  function speak() {
    const one = beat(), held = isHeld(), question = one.guess
    if (question) guesses[named()] ??= { place: selected() }
    const text = told(one)
    root.toggleAttribute("data-waiting", text === undefined)
    if (text !== undefined) write(said, passed ? `<small>${passed}</small>${text}` : text)
    for (const part of said.querySelectorAll("[data-part]")) part.tabIndex = 0
    said.classList.toggle("waits", held)
    ask(question, held)
    write(back, me.page.words.walk.back)
    write(next, me.page.words.walk.next)
    play.setAttribute("aria-label", me.page.words.walk[film.isRunning ? "pause" : "play"])
    write(play, film.isRunning ? "❚❚" : "▶")
    write(count, `${at.beat} / ${chapter().beats.length}`)
    back.disabled = at.chapter === 0 && at.beat === 1
    next.disabled = at.chapter === story.chapters.length - 1 && at.beat === chapter().beats.length
    children(chapters, story.chapters, "button", (button, { title }, n) => {
      write(child(button, 0, "b"), String(n + 1))
      write(child(button, 1, "span"), title)
      button.title = title
      button.setAttribute("aria-current", n === at.chapter ? "step" : "false")
      button.onclick = () => { film.stop(); turn(n, 1) }
    })
    chapters.children[at.chapter].scrollIntoView({ block: "nearest", inline: "nearest" })
    root.dataset.at = named()
    me.rescan()
  }

  // The question of a beat, of the place at which it was first asked; then what was right, the same on another text, and a
  // closer look.
  function ask(question, held) {
    const parts = []
    const made = (tag, className, text, onclick) => make(tag, { className, onclick }, text)
    if (question) {
      const kept = asked()
      const options = pick(question.options, kept.place, me.arrays) ?? [], right = pick(question.right, kept.place, me.arrays)
      if (held) {
        parts.push(made("div", "asked", ""), ...options.map((option, n) => made("button", "answer", option, () => {
          kept.answer = n
          go(at, { ...selected(), beat: at.beat - 1 })
        })))
        write(parts[0], `${me.page.words.guess}${told(question.asked, kept.place) ?? ""}`)
      } else {
        parts.push(kept.answer === right ? made("b", "right", me.page.words.walk.right) : made("b", "wrong", `${me.page.words.walk.wrong} ${options[right]}`))
        if (others().length > 1) parts.push(made("button", "another", me.page.words.walk.another, () => another()))
      }
    }
    const { opens } = chapter(), isEnd = at.chapter === story.chapters.length - 1, pages = isEnd ? story.ways : opens ? [[opens[0], {}, opens[1]]] : []
    if (at.beat === chapter().beats.length && !held) {
      for (const [page, changes, label] of pages) parts.push(made("button", isEnd ? "way" : "closer", label, () => me.tell("picked", { of: "way", value: { page, ...changes } })))
    }
    const now = JSON.stringify(parts.map(part => part.outerHTML)) + named()
    if (guess.now === now) return
    guess.now = now
    guess.replaceChildren(...parts)
  }
  const others = () => me.page.boxes[0]?.examples.map(([, text]) => text) ?? []
  const another = (texts = others()) => me.type({ text: texts[(texts.indexOf(me.page.boxes[0].text) + 1) % texts.length] }, true, true)

  // A question that is not yet answered holds the picture back: it shows the beat before.
  const shown = place => isHeld() && place.chapter === at.chapter ? { ...place, beat: Math.min(place.beat, at.beat - 1) } : place
  function draw() {
    cancelAnimationFrame(frame)
    const t = Math.min(1, (performance.now() - begun) / MOTION)
    const place = shown(selected()), state = { t, from: shown(from ?? place), place, me, story, lit, select, lights: isHeld() ? [] : beat().lights, colors: palette(me.page) }
    const isWhole = paint(ground, chapter(), state)
    root.toggleAttribute("data-waiting", !isWhole || said.hidden)
    root.toggleAttribute("data-moves", t < 1)
    if (t < 1) frame = requestAnimationFrame(draw)
    else from = null
  }
  function dress() {
    for (const [role, color] of Object.entries(palette(me.page))) root.style.setProperty(`--${role}`, color)
    draw()
  }
  watched(() => story && dress())

  // As large as there is room for.
  new ResizeObserver(() => {
    const zoom = Math.max(0.5, Math.min(2, (stage.clientHeight - 16) / HIGH, Math.max(1, (stage.clientWidth - 32) / WIDE)))
    ground.style.zoom = zoom
    ground.style.width = `${Math.min(WIDE, (stage.clientWidth - 20) / zoom)}px`
    ground.style.height = `${HIGH}px`
    if (story) draw()
  }).observe(stage)

  return {
    take(now, item) {
      me = now
      story = item
      me.page.words.walk = item.words
      const isOther = run !== item.run, isLed = me.isLed || at === null
      if (isLed || isOther) {
        const n = isLed ? story.chapters.findIndex(({ name }) => name === me.option("chapter")) : Math.min(at.chapter, story.chapters.length - 1)
        const chapter = Math.max(0, n), wanted = isLed ? Number(me.option("beat")) || 1 : at.beat
        at = { chapter, beat: Math.min(Math.max(1, wanted), story.chapters[chapter].beats.length) }
        at = { ...at, ...follow(selected()) }
        begun = -Infinity
        from = null
      }
      if (isOther) [guesses, passed] = [{}, ""]
      if (message !== item) for (const axis in story.sizes) at[axis] = Math.min(at[axis] ?? 0, story.sizes[axis] - 1)
      ;[run, message] = [item.run, item]
      root.classList.toggle("large", !!me.page.present)
      chapters.setAttribute("aria-label", item.words.chapters)
      speak()
      dress()
    },
    // Layer, head or token was selected: what follows them does, and things move there.
    selected(before) {
      const { layer, head } = me.place
      if (layer !== story.at.layer || head !== story.at.head) return me.ask()
      go({ ...at, ...follow(me.place) }, { ...before, ...at })
    },
    stop: film.stop,
  }
}
