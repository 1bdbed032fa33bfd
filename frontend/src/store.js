// What is selected, on the whole page: the one layer, head and token that all pictures show. Everybody who
// subscribed is told before `select` returns, so that all of them paint in the frame of the click.
const DIMENSIONS = ["layer", "head", "token"]
const WAIT = 60 // ms of rest before the server is told more: of ten quick clicks it hears the first and the last

// An address without what is selected.
function besides(url) {
  const query = new URLSearchParams(url.search)
  DIMENSIONS.forEach(name => query.delete(name))
  query.sort()
  return `${url.pathname}?${query}`
}

function create() {
  const listeners = new Set(), answers = new Set()
  let selection = globalThis.vizSelection ?? { layer: 0, head: 0, token: 0 } // a file says that nothing is
  let send = null, timer = 0, isLate = false, pending = {}, sent = 0, nav = null, told = []
  const push = history.pushState.bind(history)
  // The server writes each selection that it hears of into the address, where it stands already. What it says of the
  // first of quick clicks comes after the last: taken, it would lead the address back and stand in Back's way.
  history.pushState = (state, unused, url) => {
    if (url == null || !isEcho(new URL(url, location.href))) push(state, unused, url)
  }

  function isEcho(url) {
    const says = one => DIMENSIONS.every(name => [null, String(one.selection[name])].includes(url.searchParams.get(name)))
    return told.some(says) && besides(url) === besides(new URL(location.href))
  }

  const notify = changed => listeners.forEach(listener => listener(changed))
  function adopt(wanted) {
    const changed = DIMENSIONS.filter(name => Number.isInteger(wanted[name]) && wanted[name] !== selection[name])
    if (!changed.length) return changed
    selection = { ...selection, ...Object.fromEntries(changed.map(name => [name, wanted[name]])) }
    notify(changed)
    return changed
  }
  function address(changed) {
    if (!send) return // no server, no address: a file
    const url = new URL(location.href)
    for (const name of named(changed)) url.searchParams.set(name, selection[name])
    push(history.state, "", url)
  }
  // A layer belongs to its head: what was shown unasked stays beside what is chosen.
  const named = changed => changed.some(name => name !== "token") ? [...new Set([...changed, "layer", "head"])] : changed
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
    adopt,
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
      address(changed)
      for (const name of named(changed)) pending[name] = selection[name]
      if (!timer) flush()
      else isLate = true
      clearTimeout(timer)
      timer = setTimeout(rest, WAIT)
    },
    // The server's side of it: what it says once (`nav` is new), and the last message that it has read.
    bridge(data, tell) {
      send = tell
      told = told.filter(one => one.seq > data.seq)
      if (data.seq >= sent && !isLate) pending = {} // an answer to the first of quick clicks is none to the last
      if (data.seq < sent && data.nav !== nav && data.seq === 0) {
        // The server began anew and knows only an old address: what is selected here is newer.
        nav = data.nav
        pending = { ...selection }
        return flush()
      }
      if (data.nav !== nav) {
        nav = data.nav
        adopt(data)
      }
      answered()
    },
  }
}

export const store = globalThis[Symbol.for("viz-model.store")] ??= create()
