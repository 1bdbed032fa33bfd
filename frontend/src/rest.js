// Tells when the visitor rests, where pictures lack what the next click leads to.
import { store } from "./store.js"

const REST = 250 // ms after which there is time to draw ahead
const MOST = 8 // rests after which what was selected has no answer to wait for

export function rest(root, header, arrays, tell) {
  if (!header.wants) return
  let resting = 0
  const stop = () => clearTimeout(resting)
  const begin = (_, left = MOST) => {
    stop()
    // The server has what is selected to tell of first.
    resting = setTimeout(() => store.isAwaited && left ? begin(_, left - 1) : tell("rested", true), REST)
  }
  // Begun anew, not given up: what is selected as the page opens is told to all of it, too.
  const unsubscribe = store.subscribe(begin)
  begin()
  return () => {
    unsubscribe()
    stop()
  }
}
