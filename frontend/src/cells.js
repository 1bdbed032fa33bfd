// Cells on a canvas: a scale runs from transparent to its hue, so that nothing is the page's own color in any theme.
import { bytesOf, isDark } from "./theme.js"

const hatches = new Map()
function hatch(pen) {
  const dark = isDark()
  if (!hatches.has(dark)) {
    const tile = document.createElement("canvas")
    tile.width = tile.height = 6
    const stroke = tile.getContext("2d")
    stroke.fillStyle = "rgba(128, 132, 145, 0.18)"
    stroke.fillRect(0, 0, 6, 6)
    stroke.strokeStyle = "rgba(128, 132, 145, 0.45)"
    stroke.beginPath()
    stroke.moveTo(-1, 7)
    stroke.lineTo(7, -1)
    stroke.stroke()
    hatches.set(dark, tile)
  }
  return pen.createPattern(hatches.get(dark), "repeat")
}

// The role that a value is colored in, and how much of it.
export const colorOf = (mark, value) => mark.look === "stops" ? stop(mark, value)[0]
  : mark.look === "signed" ? (value < 0 ? "negative" : "positive") : mark.role
export const shareOf = (mark, value) => mark.look === "stops" ? stop(mark, value)[1] : Math.min(1, Math.abs(value) / mark.top)

// Between two stops the role is that of the nearer one, and the opacity changes evenly.
function stop({ stops }, value) {
  const n = stops.findIndex(([at]) => at > value)
  if (n === 0) return stops[0].slice(1)
  if (n < 0) return stops[stops.length - 1].slice(1)
  const [[a, near, from], [b, far, to]] = [stops[n - 1], stops[n]], part = (value - a) / (b - a)
  return [part < 0.5 ? near : far, from + part * (to - from)]
}

export function paintCells(canvas, width, height, marks, colors) {
  const scale = window.devicePixelRatio || 1
  const wide = Math.round(width * scale), tall = Math.round(height * scale)
  if (canvas.width !== wide || canvas.height !== tall) Object.assign(canvas, { width: wide, height: tall })
  const pen = canvas.getContext("2d")
  pen.clearRect(0, 0, wide, tall)
  pen.imageSmoothingEnabled = false
  for (const mark of marks) {
    if (mark.look === "blank") continue
    pen.globalAlpha = mark.opacity ?? 1
    ;(mark.look === "bars" ? bars : mark.gap ? apart : image)(pen, mark, scale, colors)
  }
  pen.globalAlpha = 1
}

// The cells of a matrix as one small image, and which are masked, as runs of a row: its number, the first column, the
// one behind the last. Numbers that were painted alike last time, as in every frame of a move that changes their place
// alone, are not painted again.
const painted = new WeakMap() // by the numbers themselves
function tileOf(mark, colors) {
  const { rows, columns, values } = mark, look = [mark.look, mark.top, mark.role, rows, columns, mark.empty, JSON.stringify(mark.stops ?? 0)].join()
  const known = painted.get(values)
  if (known && known.look === look && known.colors === colors) return known
  const { tile, context, pixels } = sheet(columns, rows, mark.passes), { data } = pixels, masked = []
  const hue = value => bytesOf(colors, colorOf(mark, value)), twoHues = mark.look === "stops" ? null : [hue(1), hue(-1)]
  for (let i = 0; i < rows * columns; i++) {
    const value = values[i]
    if (!Number.isFinite(value)) {
      if (mark.empty) continue
      const row = Math.floor(i / columns), from = i % columns, last = masked.at(-1)
      if (last?.[0] === row && last[2] === from) last[2]++
      else masked.push([row, from, from + 1])
      continue
    }
    const bytes = twoHues ? twoHues[value < 0 ? 1 : 0] : hue(value), at = 4 * i
    data[at] = bytes[0]
    data[at + 1] = bytes[1]
    data[at + 2] = bytes[2]
    data[at + 3] = Math.round(255 * shareOf(mark, value))
  }
  context.putImageData(pixels, 0, 0)
  const made = { tile, masked, look, colors, data, passes: mark.passes }
  if (!mark.passes) painted.set(values, made)
  return made
}

// A canvas of so many pixels, and its empty image. What a move passes through is seen once: making a canvas takes longer
// than painting it, so one of each size serves all of that.
const sheets = new Map()
function sheet(columns, rows, passes) {
  const size = `${columns},${rows}`, known = passes && sheets.get(size)
  if (known) return known.pixels.data.fill(0), known
  const tile = document.createElement("canvas")
  Object.assign(tile, { width: columns, height: rows })
  const context = tile.getContext("2d"), made = { tile, context, pixels: context.createImageData(columns, rows) }
  if (sheets.size > 50) sheets.clear()
  if (passes) sheets.set(size, made)
  return made
}

// The tile where there are fewer pixels than cells, in one direction or both: each pixel is the mean of the cells that
// it covers, as far as it covers them. The browser would leave cells out, and a wave show bands that it has not.
function averaged(made, columns, rows, w, h) {
  const wide = Math.max(1, Math.min(w, columns)), tall = Math.max(1, Math.min(h, rows))
  if (wide === columns && tall === rows) return made.tile
  if (made.small?.width === wide && made.small.height === tall) return made.small
  const sums = new Float32Array(4 * wide * tall), across = covered(columns, wide), down = covered(rows, tall), { data } = made
  for (let r = 0; r < rows; r++) {
    for (let j = 0; j < down[r].length; j += 2) {
      for (let c = 0, from = 4 * r * columns, row = down[r][j] * wide; c < columns; c++, from += 4) {
        const alpha = down[r][j + 1] * data[from + 3]
        if (alpha) for (let k = 0; k < across[c].length; k += 2) {
          const to = 4 * (row + across[c][k]), share = across[c][k + 1] * alpha
          sums[to] += share * data[from]
          sums[to + 1] += share * data[from + 1]
          sums[to + 2] += share * data[from + 2]
          sums[to + 3] += share
        }
      }
    }
  }
  const { tile: small, context, pixels } = sheet(wide, tall, made.passes)
  for (let at = 0; at < sums.length; at += 4) {
    const alpha = sums[at + 3]
    for (let n = 0; n < 3; n++) pixels.data[at + n] = alpha ? Math.round(sums[at + n] / alpha) : 0
    pixels.data[at + 3] = Math.round(alpha)
  }
  context.putImageData(pixels, 0, 0)
  return made.small = small
}

// Of each of so many cells, which of the fewer pixels it stands in, each followed by the share of it that it covers.
function covered(cells, pixels) {
  return Array.from({ length: cells }, (_, n) => {
    const from = n * pixels / cells, to = (n + 1) * pixels / cells, found = []
    for (let at = Math.floor(from); at < Math.min(pixels, Math.ceil(to - 1e-9)); at++) found.push(at, Math.min(to, at + 1) - Math.max(from, at))
    return found
  })
}

// All cells of a matrix as one small image, which is then stretched.
function image(pen, mark, scale, colors) {
  const { rows, columns } = mark, made = tileOf(mark, colors)
  const edge = n => Math.round(n * scale)
  const x = edge(mark.x), y = edge(mark.y), w = edge(mark.x + mark.width) - x, h = edge(mark.y + mark.height) - y
  if (made.masked.length) pen.fillStyle = hatch(pen)
  for (const [row, from, to] of made.masked) {
    const x0 = x + Math.round(from * w / columns), x1 = x + Math.round(to * w / columns)
    const y0 = y + Math.round(row * h / rows), y1 = y + Math.round((row + 1) * h / rows)
    pen.fillRect(x0, y0, x1 - x0, y1 - y0)
  }
  pen.drawImage(averaged(made, columns, rows, w, h), x, y, w, h)
}

// Few cells, each for itself.
function apart(pen, mark, scale, colors) {
  each(mark, (value, x, y, w, h) => {
    if (mark.empty && !Number.isFinite(value)) return
    const edge = n => Math.round(n * scale), gap = Math.min(mark.gap, w / 4), below = mark.rows > 1 ? Math.min(mark.gap, h / 4) : 0
    const role = colorOf(mark, value)
    pen.globalAlpha = (mark.opacity ?? 1) * (Number.isFinite(value) ? shareOf(mark, value) : 1)
    pen.fillStyle = Number.isFinite(value) ? colors[role] ?? role : hatch(pen)
    pen.fillRect(edge(x), edge(y), edge(x + w - gap) - edge(x), edge(y + h - below) - edge(y))
  })
}

// Bars stand on the lower edge; signed ones on the middle.
function bars(pen, mark, scale, colors) {
  each(mark, (value, x, y, w, h) => {
    const edge = n => Math.round(n * scale), left = edge(x + 0.12 * w), right = Math.max(left + 1, edge(x + 0.88 * w))
    if (!Number.isFinite(value)) {
      pen.fillStyle = hatch(pen)
      return pen.fillRect(left, edge(y), right - left, edge(y + h) - edge(y))
    }
    const zero = mark.signed ? y + h / 2 : y + h, tall = (mark.signed ? h / 2 : h) * Math.min(1, Math.abs(value) / mark.top)
    pen.fillStyle = colors[mark.signed ? (value < 0 ? "negative" : "positive") : mark.role]
    const [above, below] = value < 0 ? [zero, zero + tall] : [zero - tall, zero]
    pen.fillRect(left, edge(above), right - left, Math.max(value === 0 ? 0 : 1, edge(below) - edge(above)))
  })
}

export function each(mark, visit) {
  const w = mark.width / mark.columns, h = mark.height / mark.rows
  for (let r = 0; r < mark.rows; r++) {
    for (let c = 0; c < mark.columns; c++) visit(mark.values[r * mark.columns + c], mark.x + c * w, mark.y + r * h, w, h, r, c)
  }
}
