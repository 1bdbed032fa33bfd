// Between the selection and the server; also what belongs to the document and not to a picture.
import { store } from "./store.js"

const REST = 250 // ms after which there is time to draw ahead

export function bridge(root, header, arrays, tell) {
  document.documentElement.lang = header.language
  store.bridge(header, selection => tell("selected", selection))
  // Back and Forward: at once here, and the server reads the address by itself.
  const back = () => {
    const query = new URL(location.href).searchParams
    const said = name => query.has(name) ? Number(query.get(name)) : header.initial[name]
    store.adopt({ layer: said("layer"), head: said("head"), token: said("token") })
  }
  addEventListener("popstate", back)
  const resting = header.wants ? setTimeout(() => tell("rested", header.seq), REST) : 0
  const unsubscribe = store.subscribe(() => clearTimeout(resting))
  return () => {
    unsubscribe()
    clearTimeout(resting)
    removeEventListener("popstate", back)
  }
}
