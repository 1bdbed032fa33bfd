// The field to draw in, small in its bar or large above the page: at the bottom right, where it hides least of what is
// followed while one draws; on a phone under the thumb.
import { sign } from "./corner.js"

const OUT = "M9.5 2.5h4v4M6.5 13.5h-4v-4M13.5 2.5 9 7M2.5 13.5 7 9", IN = "M9.5 3v3.5H13M6.5 13V9.5H3M9.5 6.5 13.5 2.5M6.5 9.5l-4 4"

export function enlarging({ pad, paper, tools, side, size, words }) {
  const show = (path, name) => {
    size.replaceChildren(sign(path))
    size.title = name
    size.setAttribute("aria-label", name)
  }
  const is = () => pad.classList.contains("large")
  const open = () => {
    if (is()) return
    pad.classList.add("large")
    pad.setAttribute("role", "dialog")
    pad.setAttribute("aria-label", words.field)
    pad.append(tools)
    // Above all that Streamlit stacks, in browsers that know how; elsewhere above the page.
    if (pad.showPopover) {
      pad.popover = "manual"
      pad.showPopover()
    }
    show(IN, words.smaller)
    paper.focus({ preventScroll: true })
  }
  const close = () => {
    if (!is()) return
    if (pad.popover) {
      pad.hidePopover()
      pad.popover = null
    }
    pad.classList.remove("large")
    pad.removeAttribute("role")
    pad.removeAttribute("aria-label")
    side.prepend(tools)
    show(OUT, words.larger)
    size.focus({ preventScroll: true })
  }
  show(OUT, words.larger)
  size.onclick = () => is() ? close() : open()
  pad.onkeydown = event => {
    if (event.key !== "Escape" || !is()) return
    event.stopPropagation()
    close()
  }
  return { is, open }
}
