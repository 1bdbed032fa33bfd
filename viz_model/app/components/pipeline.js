// The whole run in one picture. Numbers arrive once; hovering is answered here.
const HEAD = 44, LABEL = 12, SMALL = 11

function cut(context, text, width) {
  if (context.measureText(text).width <= width) return text
  const letters = [...text]
  while (letters.length > 1 && context.measureText(letters.join("") + "…").width > width) letters.pop()
  return letters.join("") + "…"
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".root")
  const [header, numbers] = unframe(data)
  const { rows, width: sent, dimensions: dims, every: thinned, words, palette } = header

  const readout = document.createElement("div")
  readout.className = "readout"
  readout.textContent = words.hint
  const canvas = document.createElement("canvas")
  canvas.setAttribute("role", "img")
  canvas.setAttribute("aria-label", words.alt)
  root.replaceChildren(canvas, readout)

  let offset = 0
  const take = count => numbers.subarray(offset, (offset += count))
  const strips = header.strips.map(part => ({ ...part, values: take(rows * sent) }))
  const blocks = header.blocks.map(block => ({ ...block, pattern: take(rows * rows), norm: take(rows) }))
  const ends = header.ends.map(part => ({ ...part, values: take(rows * sent) }))

  const style = getComputedStyle(root)
  const ink = style.color, font = style.fontFamily
  const line = getComputedStyle(root.getRootNode().host ?? root).getPropertyValue("--st-border-color") || "#8884"

  const rowHeight = Math.max(6, Math.min(30, 420 / rows))
  const bodyHeight = Math.max(rowHeight * rows, 220)
  const height = HEAD + bodyHeight + 8
  let areas = []

  // Where a strip has fewer pixels than dimensions it shows every n-th of them, and says so: an
  // average or a maximum would be a colour that no single value of the run has.
  // A wide one came thinned out already. The stride counts the columns that came.
  const stride = width => Math.max(1, Math.ceil(sent / (width * (devicePixelRatio || 1))))

  function strip(context, values, x, width, limit) {
    const step = stride(width), count = Math.ceil(sent / step)
    const image = context.createImageData(count, rows)
    for (let row = 0; row < rows; row++) {
      for (let c = 0; c < count; c++) {
        const share = Math.max(-1, Math.min(1, values[row * sent + c * step] / limit))
        const [r, g, b] = share < 0 ? palette.negative : palette.positive
        image.data.set([r, g, b, Math.round(255 * Math.abs(share))], 4 * (row * count + c))
      }
    }
    paint(context, image, x, width)
    return { count, step }
  }

  function map(context, values, x, width) {
    const image = context.createImageData(rows, rows)
    for (let q = 0; q < rows; q++) {
      for (let k = 0; k < rows; k++) {
        const at = q * rows + k
        if (values[at] < 0) image.data.set([128, 132, 145, 40], 4 * at)
        else image.data.set([...palette.pattern, Math.round(255 * values[at])], 4 * at)
      }
    }
    paint(context, image, x, width)
  }

  function paint(context, image, x, width) {
    const buffer = document.createElement("canvas")
    buffer.width = image.width
    buffer.height = image.height
    buffer.getContext("2d").putImageData(image, 0, 0)
    context.imageSmoothingEnabled = false
    context.drawImage(buffer, x, HEAD, width, rowHeight * rows)
    context.strokeStyle = line
    context.strokeRect(x - 0.5, HEAD - 0.5, width + 1, rowHeight * rows + 1)
  }

  function draw() {
    const total = Math.max(700, root.clientWidth - 2)
    const ratio = devicePixelRatio || 1
    canvas.width = total * ratio
    canvas.height = height * ratio
    canvas.style.width = total + "px"
    canvas.style.height = height + "px"
    const context = canvas.getContext("2d")
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    areas = []

    const names = 82, ids = 36, next = Math.max(150, total * 0.16), gap = 14
    const free = total - names - ids - next - gap * (1 + strips.length + blocks.length)
    const stripWidth = free * 0.145, blockWidth = free * (1 - 0.145 * strips.length) / blocks.length
    const head = (title, sub, x, width) => {
      context.fillStyle = ink
      context.textAlign = "left"
      context.font = `600 ${LABEL}px ${font}`
      context.fillText(cut(context, title, width), x, 14)
      context.globalAlpha = 0.72
      context.font = `${SMALL}px ${font}`
      context.fillText(cut(context, sub, width), x, 31)
      context.globalAlpha = 1
    }

    // Tokens and their ids, a row each where there is room for letters.
    head(words.tokens, `${header.tokens}`, 0, names + ids)
    for (let row = 0; row < rows; row++) {
      const y = HEAD + row * rowHeight
      context.fillStyle = header.colours[row]
      context.globalAlpha = row === header.token ? 0.36 : 0.13
      context.fillRect(0, y + 1, names + ids - 4, rowHeight - 2)
      context.globalAlpha = 1
      context.fillRect(0, y + 1, 3, rowHeight - 2)
      if (rowHeight < 12) continue
      context.fillStyle = ink
      context.textBaseline = "middle"
      context.font = `${Math.min(14, rowHeight - 3)}px ${font}`
      context.fillText(cut(context, header.labels[row], names - 14), 8, y + rowHeight / 2)
      context.textAlign = "right"
      context.globalAlpha = 0.72
      context.font = `${SMALL}px ${font}`
      context.fillText(header.ids[row], names + ids - 8, y + rowHeight / 2)
      context.globalAlpha = 1
      context.textAlign = "left"
      context.textBaseline = "alphabetic"
    }
    areas.push({ kind: "token", page: "tokens", x: 0, width: names + ids })

    let x = names + ids + gap
    const largest = values => values.reduce((top, value) => Math.max(top, Math.abs(value)), 1e-9)
    function vectors(part, title, limit, width) {
      const every = stride(width) * thinned
      head(title, every > 1 ? words.every.replace("#", every).replace("@", dims) : words.dimensions.replace("#", dims), x, width)
      areas.push({ kind: "strip", ...strip(context, part.values, x, width, limit), values: part.values, name: part.site, page: part.page, x, width })
      x += width + gap
    }
    const limit = Math.max(...strips.map(part => largest(part.values)))
    strips.forEach((part, n) => vectors(part, (n ? "+ " : "") + words[part.part], limit, stripWidth))

    const longest = Math.max(...blocks.map(block => largest(block.norm)))
    blocks.forEach(block => {
      const { layer } = block
      const mapWidth = blockWidth * 0.68, barWidth = blockWidth - mapWidth - 6
      head(`${words.block} ${layer}`, `${words.head} ${block.head} · ${block.kind}`, x, blockWidth)
      map(context, block.pattern, x, mapWidth)
      areas.push({ kind: "map", values: block.pattern, layer, head: block.head, name: `${header.prefix}blocks.${layer}.attn.pattern[${block.head}]`, page: "attention", x, width: mapWidth })
      const barX = x + mapWidth + 6
      context.fillStyle = `rgb(${palette.residual})`
      for (let row = 0; row < rows; row++) {
        const y = HEAD + row * rowHeight
        context.fillRect(barX, y + rowHeight * 0.2, Math.max(1, barWidth * block.norm[row] / longest), rowHeight * 0.6)
      }
      areas.push({ kind: "bar", values: block.norm, layer, name: `‖${header.prefix}blocks.${layer}.resid.out‖`, page: "block", x: barX, width: barWidth })
      x += blockWidth + gap
    })

    if (ends.length) {
      ends.forEach(part => vectors(part, words[part.part], largest(part.values), next))
      return
    }
    head(words.next, cut(context, words.after + " " + header.after, next), x, next)
    const step = Math.min(28, bodyHeight / header.next.length)
    header.next.forEach((guess, n) => {
      const y = HEAD + n * step
      context.fillStyle = `rgba(${palette.output}, 0.25)`
      context.fillRect(x, y + 2, next, step - 5)
      context.fillStyle = `rgba(${palette.output}, 0.75)`
      context.fillRect(x, y + 2, Math.max(1, next * guess.probability), step - 5)
      context.fillStyle = ink
      context.textBaseline = "middle"
      context.font = `${LABEL + 1}px ${font}`
      context.fillText(cut(context, guess.label, next - 62), x + 7, y + step / 2)
      context.textAlign = "right"
      context.fillText((100 * guess.probability).toFixed(1) + " %", x + next - 6, y + step / 2)
      context.textAlign = "left"
      context.textBaseline = "alphabetic"
    })
    areas.push({ kind: "next", page: "next_token", x, width: next, step })
  }

  function under(event) {
    const box = canvas.getBoundingClientRect()
    const x = event.clientX - box.left, y = event.clientY - box.top - HEAD
    const area = areas.find(a => x >= a.x && x <= a.x + a.width)
    if (!area) return null
    const row = Math.floor(y / rowHeight)
    return { area, x: x - area.x, y, row: row >= 0 && row < rows ? row : null }
  }

  const label = row => header.labels[row]
  const describe = {
    token: ({ row }) => row === null ? null : `${label(row)} · id ${header.ids[row]}`,
    strip: ({ area, x, row }) => {
      if (row === null) return null
      const d = dimension({ area, x })
      return `${area.name} · ${label(row)} · ${words.dimension} ${d} · ${area.values[row * sent + d / thinned].toFixed(4)}`
    },
    map: ({ area, x, row }) => {
      if (row === null) return null
      const k = Math.min(rows - 1, Math.floor(x / area.width * rows))
      const weight = area.values[row * rows + k]
      const value = weight < 0 ? words.masked : (header.pool > 1 ? "≤ " : "") + weight.toFixed(4)
      return `${area.name} · ${label(row)} → ${label(k)} · ${value}`
    },
    bar: ({ area, row }) => row === null ? null : `${area.name} · ${label(row)} · ${area.values[row].toFixed(2)}`,
    next: ({ area, y }) => {
      const guess = header.next[Math.floor(y / area.step)]
      return guess && y >= 0 ? `probs · ${guess.label} · ${guess.probability.toFixed(4)}` : null
    },
  }
  // Which number of the run a cell is; what is above and below the cells opens the stage.
  const dimension = ({ area, x }) => thinned * area.step * Math.max(0, Math.min(area.count - 1, Math.floor(x / area.width * area.count)))
  const cell = {
    strip: hit => hit.row === null ? null : { site: hit.area.name, index: [hit.row, dimension(hit)] },
    map: ({ area, x, row }) => row === null ? null : {
      site: `${header.prefix}blocks.${area.layer}.attn.pattern`,
      index: [area.head, row, Math.max(0, Math.min(rows - 1, Math.floor(x / area.width * rows)))],
    },
    next: ({ area, y }) => {
      const guess = header.next[Math.floor(y / area.step)]
      return guess && y >= 0 ? { site: "probs", index: [header.picked, guess.id] } : null
    },
  }
  canvas.onmousemove = event => {
    const hit = under(event)
    canvas.style.cursor = hit ? "pointer" : "default"
    readout.textContent = (hit && describe[hit.area.kind](hit)) || words.hint
  }
  canvas.onmouseleave = () => { readout.textContent = words.hint }
  canvas.onclick = event => {
    const hit = under(event)
    if (!hit) return
    const { kind, page, layer, head } = hit.area
    const asked = cell[kind]?.(hit)
    if (kind === "token" && hit.row !== null) setTriggerValue("picked", { token: hit.row * header.pool })
    else if (asked && header.pool === 1) setTriggerValue("asked", asked)
    else setTriggerValue("picked", { page, layer, head })
  }
  draw()
  const observer = new ResizeObserver(draw)
  observer.observe(root)
  return () => observer.disconnect()
}
