// Tells when the visitor rests, where pictures lack what the next click leads to.
import { isRunning } from "./running.js"
import { store } from "./store.js"

const REST = 250 // ms after which there is time to draw ahead
const INPUT = ["pointerdown", "keydown", "click"] // with these the page may run before the browser hears that it does
const MOST = 8 // rests after which what was selected has no answer to wait for

// What asks for a part of the page while all of it runs is answered right after, and before the browser has the page:
// Streamlit drops what it has not sent of the part, and keeps what stands in it ("Bad delta path").
export function rest(root, header, arrays, tell) {
  root.lacks = header.wants // for who looks on
  if (!header.wants || navigator.connection?.saveData) return // what may never be looked at is data, too
  let resting = 0
  const stop = () => clearTimeout(resting)
  const begin = (_, left = MOST) => {
    stop()
    resting = setTimeout(() => {
      if (isRunning()) begin(_, left)
      else if (store.isAwaited && left) begin(_, left - 1) // the server has what is selected to tell of first
      else {
        resting = 0
        tell("rested", true)
      }
    }, REST)
  }
  // Begun anew, not given up: what is selected as the page opens is told to all of it, too.
  const unsubscribe = store.subscribe(begin), again = () => resting && begin()
  INPUT.forEach(name => document.addEventListener(name, again, true))
  addEventListener("popstate", again)
  begin()
  return () => {
    unsubscribe()
    INPUT.forEach(name => document.removeEventListener(name, again, true))
    removeEventListener("popstate", again)
    stop()
  }
}
