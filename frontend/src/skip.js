// A link past everything that stands on every page, as the first thing in the document.
import { make } from "./nodes.js"

const ID = "viz-model-skip", CONTENT = "viz-model-content"
const LOOK = `#${ID} { position: fixed; top: 0.5rem; left: 0.5rem; z-index: 1000000; padding: 0.6rem 1rem;
  border-radius: 0.5rem; background: #6b4fa0; color: #fff; font: 600 16px/1.4 "Source Sans", sans-serif; text-decoration: none; }
#${ID}:not(:focus) { clip-path: inset(50%); width: 1px; height: 1px; padding: 0; overflow: hidden; }
@media print { #${ID} { display: none; } }`

function link() {
  document.head.append(make("style", {}, LOOK))
  const onclick = event => {
    event.preventDefault()
    const title = goal() ?? document.querySelector("main h2")
    if (!title) return
    title.tabIndex = -1
    title.focus()
    title.scrollIntoView({ block: "center" })
  }
  const link = make("a", { id: ID, href: `#${CONTENT}`, onclick })
  document.body.prepend(link)
  return link
}

let goal = () => null

// `find` says where an island begins; else the page's own title is where the link leads.
export function skip(root, header, arrays, tell, find = () => null) {
  goal = find
  document.querySelector("main")?.setAttribute("id", CONTENT)
  const shown = document.getElementById(ID) ?? link()
  shown.textContent = header.label
}
