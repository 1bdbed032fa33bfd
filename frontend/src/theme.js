// Colors by role, for the theme that the page has now. Streamlit changes its variables without a message, so the
// page's own color is looked at whenever an attribute of its root changes, or the reader's own light or dark.
import { app } from "./running.js"

const listeners = new Set()
let seen = null

const channels = color => {
  if (/^#[0-9a-f]{6}$/i.test(color)) return Uint8ClampedArray.from([1, 3, 5], at => parseInt(color.slice(at, at + 2), 16))
  const pen = document.createElement("canvas").getContext("2d")
  pen.fillStyle = color
  pen.fillRect(0, 0, 1, 1)
  return pen.getImageData(0, 0, 1, 1).data
}

// Asked for while a picture is being written, the page's color would have the browser find the style of all that was
// written before: it is looked at once, and again when it may be another.
export const isDark = () => (seen ??= measured()).dark

function measured() {
  const color = getComputedStyle(app()).backgroundColor
  if (seen?.color === color) return seen
  const [r, g, b] = channels(color)
  return { color, dark: 0.2126 * r + 0.7152 * g + 0.0722 * b < 128 }
}

// { role: "#rrggbb" } of the scene, and the same as bytes for canvases. One object for as long as the colors are the
// same: what was painted in them stands, whatever else a picture is sent.
const palettes = new Map()
export function palette(header) {
  const said = header.palette[isDark() ? "dark" : "light"], name = JSON.stringify(said)
  if (!palettes.has(name)) {
    Object.defineProperty(said, "bytes", { value: Object.fromEntries(Object.entries(said).map(([role, color]) => [role, channels(color)])) })
    palettes.set(name, said)
  }
  return palettes.get(name)
}

// The same of a color that is no role.
export const bytesOf = (colors, name) => colors.bytes[name] ??= channels(name)

let watcher = null
// Calls when the page turns from light to dark or back.
export function watched(listener) {
  listeners.add(listener)
  watcher ??= (() => {
    const look = () => {
      const before = isDark()
      seen = measured()
      if (seen.dark !== before) listeners.forEach(one => one())
    }
    const soon = () => requestAnimationFrame(look)
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon)
    const observer = new MutationObserver(soon)
    observer.observe(app(), { attributes: true })
    observer.observe(document.head, { childList: true, subtree: true, characterData: true })
    return observer
  })()
  return () => listeners.delete(listener)
}
