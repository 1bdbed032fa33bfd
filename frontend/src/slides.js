// By a projector: how tall a picture is for the room that the screen has, and the words that stand with it (turns.js).
import { make } from "./nodes.js"
import { draw } from "./scene.js"

const [FLAT, LEAST, MOST, TIGHT] = [0.1, 0.6, 1.5, 0.75] // of the height that a picture was drawn with; flatter it is never made, where there is no room at all
const EDGE = 6 // pixels below a picture

// Its words.
export function copy(into, from, otherwise = "") {
  const copied = from?.cloneNode(true) ?? make("p", {}, otherwise)
  for (const added of copied.querySelectorAll("svg, a:not([href^=http])")) added.remove()
  if (into.innerHTML !== copied.innerHTML) into.replaceChildren(...copied.childNodes)
  into.hidden = !into.textContent
}

// Which of how many is shown, and whether there is another before and after it.
export function count(made, words) {
  made.count.textContent = words.count.replace("{n}", made.turn + 1).replace("{all}", made.all)
  for (const [button, name, isOver] of [[made.back, words.back, made.turn === 0], [made.on, words.on, made.turn === made.all - 1]]) {
    button.title = name
    button.setAttribute("aria-label", name)
    button.disabled = isOver
  }
}

// Where a picture's panels stand in rows that are too high for one screen together, they have turns of their own.
export function rowsOf(made, group) {
  const [{ root }] = group
  if (group.length > 1 || !root?.scene) return null
  const { scene } = root
  if (!root.panels && root.clientWidth) {
    const panels = scene.present ?? [], tops = [...new Set(panels.map(({ box }) => box.offsetTop))]
    const rows = tops.map(top => panels.filter(({ box }) => box.offsetTop === top).map(({ data }) => data.id))
    root.rows = rows.length > 1 && root.clientHeight * LEAST > room(root) ? rows : null
  }
  return root.rows?.length > 1 ? root.rows : null
}

// Of the page's own pixels, which the projector's type enlarges.
function room(root) {
  const rect = root.getBoundingClientRect(), zoom = rect.width / root.offsetWidth || 1
  return (innerHeight - rect.top) / zoom - EDGE
}

// Says how tall the flattest of them is, of what it was drawn with. Measured again a moment later: what stands above may
// still have been on its way.
export function fit({ group, part }, again = false) {
  let least = MOST
  if (!again) setTimeout(() => fit({ group, part }, true), 400)
  for (const { root } of group) {
    root?.plot?.fit(room(root))
    if (!root?.scene || !root.clientWidth) continue
    const { scene } = root
    const isOther = root.panels?.join() !== part?.join()
    if (again && isOther) continue // another is shown by now
    root.panels = part
    if (isOther) draw(scene, false)
    const panels = scene.present ?? [], tall = root.tall ?? 1
    const rows = new Map()
    for (const { box } of panels) rows.set(box.offsetTop, Math.max(rows.get(box.offsetTop) ?? 0, box.offsetHeight))
    const drawn = [...rows.values()].reduce((sum, height) => sum + height, 0)
    if (!drawn) continue
    const fixed = root.offsetHeight - drawn, wanted = Math.max(FLAT, Math.min(MOST, (room(root) - fixed) / (drawn / tall)))
    least = Math.min(least, wanted)
    if (wanted === FLAT && root.isConnected) setTimeout(() => fit({ group, part }, true), 400)
    if (Math.abs(wanted - tall) < 0.005) continue
    root.tall = wanted
    draw(scene, false)
  }
  return least
}
