// All heads as small maps in the sidebar, and what the twin makes of the sentence. The page's message has them, and they are
// drawn with it; those of a long run come later, in a message of their own.
import { write } from "./lines.js"
import { child } from "./nodes.js"
import { scene } from "./scene.js"

let given = null, show = () => {}

export function give(header, arrays) {
  given = { ...header, arrays }
  show()
}

export function heads(root, header, arrays, tell) {
  const maps = child(root, 0, "div", "viz viz-scene"), said = child(root, 1, "div", "note")
  const draw = show = () => {
    if (!given) return // the page comes after this
    maps.ends?.()
    maps.ends = scene(maps, { ...given.scene, palette: given.palette }, given.arrays, tell)
    write(said, given.said)
  }
  header.palette ? give(header, arrays) : draw()
  return () => {
    maps.ends?.()
    if (show === draw) show = () => {}
  }
}

heads.stays = true
