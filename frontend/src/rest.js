// Tells when the visitor rests, where pictures lack what the next click leads to.
import { store } from "./store.js"

const REST = 250 // ms after which there is time to draw ahead

export function rest(root, header, arrays, tell) {
  if (!header.wants) return
  let resting = 0
  const stop = () => clearTimeout(resting)
  const begin = () => {
    stop()
    resting = setTimeout(() => tell("rested", true), REST)
  }
  // Begun anew, not given up: what is selected as the page opens is told to all of it, too.
  const unsubscribe = store.subscribe(begin)
  begin()
  return () => {
    unsubscribe()
    stop()
  }
}
