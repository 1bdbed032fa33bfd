// One module for all that we draw: Streamlit mounts it with a page, with a picture of its own, or with nothing to be seen.
// Python's side is viz_model/app/components.
import { decode } from "./decode.js"
import { heads } from "./heads.js"
import { island } from "./island.js"
import { mask } from "./mask.js"
import { pages } from "./pages.js"
import { mount as pen } from "./pen.js"
import { alone as plot } from "./plot.js"
import { scene } from "./scene.js"
import { alone as search } from "./search.js"
import { sketch } from "./sketch.js"
import { skip } from "./skip.js"

const KINDS = { heads, island, mask, pages, pen, plot, scene, search, sketch, skip }

// What ends the last run of each mount. Streamlit runs a mount again when its data changes, and ends a run only when the
// mount goes: what listened before would listen on, and answer each click as often as there were answers before.
const endings = new WeakMap()

// What is told in one moment Streamlit sends for one part of the page alone: what another mount tells waits for the next.
const MOMENT = 30 // ms
let speaking = { root: null, until: 0 }
function alone(root, speak) {
  const now = performance.now(), waits = root !== speaking.root && now < speaking.until
  speaking = { root, until: Math.max(now, waits ? speaking.until : 0) + MOMENT }
  waits ? setTimeout(speak, speaking.until - MOMENT - now) : speak()
}

export default function ({ data, parentElement, setTriggerValue, setStateValue }) {
  const root = parentElement.querySelector(".viz")
  const { header, arrays } = decode(data)
  if (!KINDS[header.kind].stays) endings.get(root)?.()
  root.classList.add("viz", `viz-${header.kind}`)
  // What is told stays told, as a state, where the last word counts; else it is an event.
  const tell = (name, value, isState = false) => alone(root, () => (isState ? setStateValue : setTriggerValue)(name, value))
  const ends = KINDS[header.kind](root, header, arrays, tell)
  const end = () => {
    if (endings.get(root) !== end) return
    endings.delete(root)
    ends?.()
  }
  endings.set(root, end)
  return end
}
