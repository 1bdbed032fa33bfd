// A film: scenes of one stage in order, which the visitor plays, steps through and leaves for the next. The stage is
// never torn down: what keeps its identity moves, within a film and from one film to the next.
import { draw, scene, still } from "./scene.js"

const SPEEDS = [1, 2, 0.5]
const SWIPE = 60 // pixels
const BESIDE = 641 // pixels: a window as wide as this has the words beside the stage
const [LEAST, MOST] = [0.72, 1.8] // of the height that the stage was drawn with

export function film(root, header, arrays, tell) {
  const known = root.film?.id === header.id ? root.film : null
  const made = root.film = known ?? build(root, header.id)
  const { film: told } = header, last = told.captions.length - 1
  const isNew = made.key !== told.key
  Object.assign(made, { told, last, tell, key: told.key })
  made.stage.pace = 600
  if (isNew) {
    made.stage.frame = still() && !told.waits ? last : 0
    made.playing = !still() && !told.waits
  }
  made.stage.frame = Math.min(made.stage.frame, last)
  label(made)
  fit(made, header)
  const leave = scene(made.stage, header, arrays, tell)
  wait(made)

  const again = () => fit(made, header) && draw(made.stage.scene, false)
  const observer = new ResizeObserver(again)
  observer.observe(pageOf(root))
  addEventListener("resize", again)
  const key = event => keyed(made, event)
  for (const early of [true, false]) document.addEventListener("keydown", key, early)
  return () => {
    leave()
    clearTimeout(made.timer)
    observer.disconnect()
    removeEventListener("resize", again)
    for (const early of [true, false]) document.removeEventListener("keydown", key, early)
  }
}

const pageOf = root => (root.getRootNode().host ?? root).closest("[data-testid=stMainBlockContainer]") ?? root

// The stage takes the height that the screen has left; under the words no more than it was drawn with. What stands
// below the film is one line of links, beside the words with some room to the edge. Says whether it has another height.
function fit(made, header) {
  const { root, stage } = made, page = pageOf(root), screen = page.parentElement, isBeside = innerWidth >= BESIDE
  const place = element => element.getBoundingClientRect()
  const room = screen.clientHeight - (place(stage).top - place(page).top) - (place(root).bottom - place(stage).bottom) - (isBeside ? 82 : 58)
  const tall = Math.max(LEAST, Math.min(isBeside ? MOST : 1, room / header.panels[0].height))
  if (!stage.clientWidth || Math.abs(tall - (stage.tall ?? 1)) < 0.01) return false
  stage.tall = tall
  return true
}

const element = (tag, className, properties = {}) => Object.assign(document.createElement(tag), { className, ...properties })

function build(root, id) {
  const stops = element("div", "stops"), stage = element("div", "stage"), caption = element("p", "caption"), player = element("div", "player")
  stops.setAttribute("role", "group")
  caption.setAttribute("aria-live", "polite")
  const made = { id, root, stops, stage, caption, speed: SPEEDS[0] }
  const button = (name, act) => {
    made[name] = element("button", name, { type: "button", onclick: act })
    return made[name]
  }
  const middle = element("div", "middle")
  middle.append(
    button("unstep", () => step(made, -1)), button("play", () => toggle(made)), button("step", () => step(made, 1)),
    button("rate", () => { made.speed = SPEEDS[(SPEEDS.indexOf(made.speed) + 1) % SPEEDS.length]; wait(made); label(made) }),
  )
  player.append(button("back", () => leap(made, -1)), middle, button("next", () => leap(made, 1)))
  root.replaceChildren(stops, stage, caption, player)
  swipes(made, stage)
  return made
}

// What the controls say now.
function label(made) {
  const { told: { words, stops, stop, captions }, stage, last } = made
  const name = (button, text, sign) => {
    button.textContent = sign ?? text
    button.title = text
    button.setAttribute("aria-label", text)
  }
  const isOver = !made.playing && stage.frame === last && last > 0
  name(made.unstep, words.unstep, "‹")
  name(made.step, words.step, "›")
  name(made.play, isOver ? words.again : made.playing ? words.pause : words.play, isOver ? "↻" : made.playing ? "❚❚" : "▶\uFE0E")
  name(made.rate, `${words.speed} ${made.speed}`, `${made.speed === 0.5 ? "½" : made.speed}×`)
  name(made.back, words.back)
  name(made.next, words.next)
  made.back.disabled = stop === 0
  made.next.disabled = stop === stops.length - 1
  made.unstep.disabled = stage.frame === 0
  made.step.disabled = stage.frame === last
  made.play.disabled = last === 0
  if (made.caption.textContent !== captions[stage.frame]) made.caption.textContent = captions[stage.frame]
  made.stops.setAttribute("aria-label", words.stops)
  if (made.stops.children.length !== stops.length) {
    made.stops.replaceChildren(...stops.map((_, n) => element("button", "stop", { type: "button", onclick: () => go(made, n) })))
  }
  stops.forEach((title, n) => {
    const button = made.stops.children[n]
    button.title = title
    button.setAttribute("aria-label", title)
    button.classList.toggle("passed", n < stop)
    if (n === stop) button.setAttribute("aria-current", "step")
    else button.removeAttribute("aria-current")
  })
}

function show(made, frame) {
  made.stage.frame = frame
  made.stage.pace = 1000 * made.told.moves[frame] / made.speed
  draw(made.stage.scene, !still())
  label(made)
}

// The next frame comes when this one has stood.
function wait(made) {
  clearTimeout(made.timer)
  if (made.playing && made.stage.frame === made.last) {
    made.playing = false
    label(made)
  }
  if (!made.playing) return
  made.timer = setTimeout(() => {
    show(made, made.stage.frame + 1)
    wait(made)
  }, 1000 * made.told.seconds[made.stage.frame] / made.speed)
}

function step(made, by) {
  made.playing = false
  clearTimeout(made.timer)
  const to = made.stage.frame + by
  if (to >= 0 && to <= made.last) show(made, to)
}

function toggle(made) {
  made.playing = !made.playing
  if (made.playing) show(made, made.stage.frame === made.last ? 0 : made.stage.frame + 1)
  wait(made)
  label(made)
}

function go(made, stop) {
  if (stop >= 0 && stop < made.told.stops.length && stop !== made.told.stop) made.tell("picked", { stop })
}

const leap = (made, by) => go(made, made.told.stop + by)

// Arrows walk from stop to stop, but where they mean something else.
const HELD = "input, textarea, select, [contenteditable=true], [role=grid], [role=radiogroup], [role=slider], [role=tablist], [role=listbox], .target, .chip"
const OPTIONS = ".st-key-walk_text [role=radiogroup]"

function keyed(made, event) {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
  if (!by || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
  const target = event.composedPath()[0], within = wanted => target instanceof Element && target.closest(wanted)
  // The options of a question that is answered leave them to the walk, before they take them; ↑ and ↓ stay theirs.
  const isAnswered = !made.told.waits && within(OPTIONS)
  if (event.eventPhase === Event.CAPTURING_PHASE ? !isAnswered : within(HELD)) return
  event.stopPropagation()
  leap(made, by)
}

function swipes(made, box) {
  let from = null
  box.addEventListener("touchstart", event => { from = event.touches.length === 1 ? event.touches[0] : null }, { passive: true })
  box.addEventListener("touchend", event => {
    const to = event.changedTouches[0]
    if (!from || !to) return
    const across = to.clientX - from.clientX, down = to.clientY - from.clientY
    if (Math.abs(across) > SWIPE && Math.abs(across) > 2 * Math.abs(down)) leap(made, across < 0 ? 1 : -1)
    from = null
  }, { passive: true })
}
