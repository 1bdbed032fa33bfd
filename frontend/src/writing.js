// How numbers and names are written.
import { bytesOf } from "./theme.js"
const pen = document.createElement("canvas").getContext("2d"), MOST = 10_000
// A page's pictures ask for the same widths with every click, and to ask for its letters has the browser style it anew.
let family = "", widths = new Map()
document.fonts?.addEventListener("loadingdone", () => { [family, widths] = ["", new Map()] })

export function ruler(text, size = 12) {
  const key = `${size} ${text}`
  if (!widths.has(key)) {
    family ||= getComputedStyle(document.body).fontFamily
    pen.font = `${size}px ${family}`
    if (widths.size >= MOST) widths.clear()
    widths.set(key, pen.measureText(text).width)
  }
  return widths.get(key)
}

// Words are one line as it is, or lines of runs: [text, whether bold, color].
export const linesOf = words => Array.isArray(words) ? words : [[[words, false, ""]]]
const said = line => line.map(([text]) => text).join("")
export const plain = words => linesOf(words).map(said).join(" ")
export const wide = (words, size = 12) => Math.max(...linesOf(words).map(line => ruler(said(line), size) * (line.some(([, bold]) => bold) ? 1.06 : 1)))

export const minus = text => text.replace("-", "−")
export const brief = (value, digits, hidden = "−∞") =>
  !Number.isFinite(value) ? hidden : value === 0 ? "0" : minus(value.toFixed(digits))

// Names are cut in the middle, by whole characters.
export function short(name, most = 14) {
  if (Array.isArray(name)) return name
  const letters = [...name], half = most / 2
  return letters.length <= most ? name : letters.slice(0, half).join("") + "…" + letters.slice(1 - half).join("")
}

// Black or white, whichever can be read on a tint of a role over the page.
export function mixed(colors, role, share) {
  const [over, under] = [bytesOf(colors, role), colors.bytes.paper]
  const linear = n => (n /= 255) <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4
  const [r, g, b] = [0, 1, 2].map(i => linear(over[i] * share + under[i] * (1 - share)))
  const light = 0.2126 * r + 0.7152 * g + 0.0722 * b
  return light > 0.179 ? "#000000" : "#ffffff"
}
