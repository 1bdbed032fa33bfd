// What is selected, on the whole page: the one layer, head and token that all pictures show, and what else is chosen
// among what a page holds. Everybody who subscribed is told before `select` returns, so that all of them paint in the
// frame of the click. The server alone writes the address, once it has heard.

function create() {
  const listeners = new Set()
  let selection = globalThis.vizSelection ?? { layer: 0, head: 0, token: 0 } // a file says that nothing is

  function adopt(wanted) {
    const changed = Object.keys(wanted).filter(name => Number.isInteger(wanted[name]) && wanted[name] !== selection[name])
    if (!changed.length) return changed
    selection = { ...selection, ...Object.fromEntries(changed.map(name => [name, wanted[name]])) }
    listeners.forEach(listener => listener(changed))
    return changed
  }
  return {
    get selection() { return selection },
    // What is selected in a text of so many tokens: beyond its last one, the last.
    within: sizes => sizes?.token <= selection.token ? { ...selection, token: sizes.token - 1 } : selection,
    adopt,
    select: adopt,
    // A layer belongs to its head: what was shown unasked stays beside what is chosen.
    named: changed => changed.some(name => name === "layer" || name === "head") ? [...new Set([...changed, "layer", "head"])] : changed,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

export const store = globalThis[Symbol.for("viz-model.store")] ??= create()
