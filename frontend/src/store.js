// What is selected, on the whole page: the one layer, head and token that all pictures show, and what else is chosen
// among what a page holds. Everybody who subscribed is told before `select` returns, so that all of them paint in the
// frame of the click. The server alone writes the address, once it has heard.
const DIMENSIONS = ["layer", "head", "token"]
const WAIT = 60 // ms of rest before the server is told more: of ten quick clicks it hears the first and the last

function create() {
  const listeners = new Set(), answers = new Set()
  let selection = globalThis.vizSelection ?? { layer: 0, head: 0, token: 0 } // a file says that nothing is
  let send = null, timer = 0, isLate = false, pending = {}, sent = 0, nav = null, told = []

  const notify = changed => listeners.forEach(listener => listener(changed))
  function adopt(wanted) {
    const changed = Object.keys(wanted).filter(name => Number.isInteger(wanted[name]) && wanted[name] !== selection[name])
    if (!changed.length) return changed
    selection = { ...selection, ...Object.fromEntries(changed.map(name => [name, wanted[name]])) }
    notify(changed)
    return changed
  }
  // A layer belongs to its head: what was shown unasked stays beside what is chosen.
  const named = changed => changed.some(name => name === "layer" || name === "head") ? [...new Set([...changed, "layer", "head"])] : changed
  function flush() {
    clearTimeout(timer)
    timer = 0
    if (!send || !Object.keys(pending).length) return
    told.push({ seq: ++sent, selection })
    send({ ...pending, seq: sent })
  }
  function rest() {
    timer = 0
    if (isLate) flush()
    isLate = false
    answered()
  }
  const answered = () => answers.forEach(listener => listener())
  return {
    get selection() { return selection },
    get isAwaited() { return timer !== 0 || told.length > 0 }, // whether the server has yet to answer to it
    // What is selected in a text of so many tokens: beyond its last one, the last.
    within: sizes => sizes?.token <= selection.token ? { ...selection, token: sizes.token - 1 } : selection,
    adopt,
    named,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    // Told when the server may have said all that it has to say of what is selected.
    answered(listener) {
      answers.add(listener)
      return () => answers.delete(listener)
    },
    select(wanted) {
      const changed = adopt(wanted)
      if (!changed.length) return
      if (!send) return // no bridge: an island tells its server itself, and a file has none
      for (const name of named(changed)) pending[name] = selection[name]
      if (!timer) flush()
      else isLate = true
      clearTimeout(timer)
      timer = setTimeout(rest, WAIT)
    },
    // An island answers for the page: what a bridge of the page before had to tell is of no matter.
    release() {
      clearTimeout(timer)
      send = null
      timer = 0
      told = []
      pending = {}
    },
    // The server's side of it: what it says once (`nav` is new), and the last message that it has read.
    bridge(data, tell) {
      send = tell
      told = told.filter(one => one.seq > data.seq)
      if (data.seq >= sent && !isLate) pending = {} // an answer to the first of quick clicks is none to the last
      if (data.seq < sent && data.nav !== nav && data.seq === 0) {
        // The server began anew and knows only an old address: what is selected here is newer.
        nav = data.nav
        pending = Object.fromEntries(DIMENSIONS.map(name => [name, selection[name]]))
        return flush()
      }
      if (data.nav !== nav) {
        nav = data.nav
        adopt(Object.fromEntries(DIMENSIONS.filter(name => name in data).map(name => [name, data[name]])))
      }
      answered()
    },
  }
}

export const store = globalThis[Symbol.for("viz-model.store")] ??= create()
