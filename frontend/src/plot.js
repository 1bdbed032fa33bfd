// Curves and bars along axes, drawn by Plotly, which comes with the first of a page. A figure says what is its own; the
// look that all share, in the colors of the page, is said here. Files of it are written by viz_model.drawing.plotted.
import { corner } from "./corner.js"
import { file } from "./files.js"
import { make } from "./nodes.js"
import { palette, watched } from "./theme.js"

const HEIGHT = 340 // pixels, as of viz_model.drawing.plotted
const LEAST = 160, MOST = 640 // by a projector
let loading = null
const load = () => loading ??= import(file("plotly.js")).then(module => module.default)

export function plot(me, root, item) {
  root.className = "viz viz-plot"
  const made = root.plot ??= build(root)
  made.take(me, item)
  root.ends = made.end
}

// One that stands in a part of the page that is Streamlit's.
export function alone(root, header, arrays, tell) {
  plot({ page: header, arrays, tell: (name, { value }) => tell(name, value) }, root, header)
  return root.ends
}

alone.stays = true // it is drawn again where it stands, and what is zoomed stays so

function build(root) {
  const stage = make("div", { className: "stage-of-plot", role: "img" })
  root.replaceChildren(stage)
  let me = null, item = null, figure = null, plotly = null, width = 0, tall = 0, isOver = false, last = Promise.resolve()
  const made = { header: null, at: value => value, panels: [], tables: [], tell: (name, value) => me.tell(name, { of: item.id, value }) }
  // Plotly draws in steps: what is asked for meanwhile waits, and what is taken away by then is not asked for.
  const next = act => last = last.catch(() => {}).then(() => isOver ? null : act())
  const draw = () => {
    if (!plotly || !figure || !stage.clientWidth) return
    width = stage.clientWidth
    const layout = layoutOf(figure.layout, palette(me.page), getComputedStyle(root).fontFamily, width)
    if (tall) layout.height = tall
    const config = { displayModeBar: false, locale: "own", locales: { own: { dictionary: { "Double-click to zoom back out": item.words.back }, format: {} } } }
    next(() => plotly.react(stage, figure.data, layout, config))
    next(() => {
      if (!("drawn" in root.dataset)) stage.on("plotly_relayout", retick)
      root.dataset.drawn = "" // for tests
      retick()
      document.getElementById("js-plotly-tester")?.setAttribute("aria-hidden", "true") // Plotly's ruler, which it leaves in the page
    })
  }
  // On a logarithmic axis other powers are worth writing once one is closer.
  const retick = () => {
    const changes = {}
    for (const [name, axis] of Object.entries(stage._fullLayout)) {
      if (!/^[xy]axis/.test(name) || axis.type !== "log" || figure.layout[name]?.tickvals) continue
      const { tickvals, ticktext } = logTicks(...axis.range)
      if (String(axis.tickvals) !== String(tickvals)) Object.assign(changes, { [`${name}.tickmode`]: "array", [`${name}.tickvals`]: tickvals, [`${name}.ticktext`]: ticktext })
    }
    if (Object.keys(changes).length) next(() => plotly.relayout(stage, changes))
  }
  const observer = new ResizeObserver(() => stage.clientWidth !== width && draw())
  observer.observe(stage)
  const unwatch = watched(draw)
  return {
    take(now, sent) {
      const said = JSON.stringify(sent.figure), isSame = item && said === made.said && me.arrays === now.arrays
      me = now
      item = sent
      stage.setAttribute("aria-label", item.alt)
      if (!isSame) {
        made.said = said
        figure = whole(item.figure, me.arrays)
        made.tables = tablesOf(figure, me.page.language)
      }
      made.header = { title: item.alt, words: item.words }
      corner(root, made)
      if (isSame) return
      stage.style.height = `${tall || (figure.layout.height ?? HEIGHT)}px`
      load().then(found => {
        plotly = found
        draw()
      })
    },
    // By a projector it is as tall as the screen has room for.
    fit(room) {
      const wanted = Math.round(Math.max(LEAST, Math.min(room, MOST)))
      if (wanted === tall || !figure) return
      tall = wanted
      stage.style.height = `${tall}px`
      draw()
    },
    end() {
      observer.disconnect()
      unwatch()
      isOver = true
      last.catch(() => {}).then(() => plotly?.purge(stage))
      delete root.plot
      delete root.dataset.drawn
    },
  }
}

// A figure with its numbers in their places.
function whole(value, arrays) {
  if (Array.isArray(value)) return value.map(one => whole(one, arrays))
  if (value === null || typeof value !== "object") return value
  if ("array" in value) return Array.from(arrays[value.array].values)
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, whole(one, arrays)]))
}

function layoutOf(own, colors, family, width) {
  const isTouched = matchMedia("(pointer: coarse)").matches // where a finger that drags scrolls the page
  const font = { family, size: 13, color: colors.ink }
  const axis = { automargin: true, gridcolor: colors.grid, zerolinecolor: colors.grid, linecolor: colors.grid, tickcolor: colors.grid, tickfont: { size: 12, color: colors.muted }, title: { standoff: 8, font: { size: 13 } }, fixedrange: isTouched }
  const shared = {
    width, height: HEIGHT, font, uirevision: "kept", hovermode: "closest", dragmode: isTouched ? false : "zoom",
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", margin: { l: 8, r: 14, t: 8, b: 8 },
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 }, bgcolor: "rgba(0,0,0,0)" },
    hoverlabel: { bgcolor: colors.paper, bordercolor: colors.muted, font: { ...font, size: 12.5 }, align: "left" },
  }
  const names = new Set(["xaxis", "yaxis", ...Object.keys(own).filter(name => /^[xy]axis/.test(name))])
  for (const name of names) shared[name] = name[0] === "x" ? { ...axis, showgrid: false } : axis
  return merged(shared, own)
}

function merged(base, own) {
  const both = { ...base }
  for (const [name, value] of Object.entries(own)) {
    const isOpen = value !== null && typeof value === "object" && !Array.isArray(value) && typeof base[name] === "object"
    both[name] = isOpen ? merged(base[name], value) : value
  }
  return both
}

const RAISED = { "-": "⁻", ...Object.fromEntries([..."⁰¹²³⁴⁵⁶⁷⁸⁹"].map((sign, n) => [n, sign])) }
const named = (power, digit) => power >= -3 && power <= 4 ? `${Number((digit * 10 ** power).toPrecision(3))}` : `${digit > 1 ? `${digit}·` : ""}10${[...String(power)].map(one => RAISED[one]).join("")}`

// Powers of ten between two of them, of which Plotly would write the exponents too small to be read; and what is between
// them where they are few.
function logTicks(low, high) {
  const span = high - low, digits = span > 2 ? [1] : span > 0.9 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9], step = Math.max(1, Math.ceil(span / 8))
  const tickvals = [], ticktext = []
  for (let power = Math.floor(low); power <= Math.ceil(high); power++) for (const digit of digits) {
    const at = power + Math.log10(digit)
    if (at < low - 1e-9 || at > high + 1e-9 || power % step) continue
    tickvals.push(digit * 10 ** power)
    ticktext.push(named(power, digit))
  }
  return { tickvals, ticktext }
}

// The numbers: those that stand at the same places side by side, in a table of their own otherwise.
function tablesOf({ data, layout }, language) {
  const format = new Intl.NumberFormat(language, { maximumSignificantDigits: 6 }), bare = text => String(text ?? "").replace(/<[^>]*>/g, "")
  const written = value => typeof value === "number" ? Number.isFinite(value) ? format.format(value).replace("-", "−") : "–" : bare(value)
  const groups = new Map()
  for (const trace of data) {
    if (trace.fill && trace.fill !== "none" || trace.hoverinfo === "skip") continue
    const places = String(trace.x)
    groups.set(places, [...groups.get(places) ?? [], trace])
  }
  const across = bare(layout.xaxis?.title?.text), up = bare(layout.yaxis?.title?.text)
  return [...groups.values()].map(traces => ({
    name: up, head: [across, ...traces.map(trace => bare(trace.name) || up)], all: traces[0].x.length,
    rows: traces[0].x.map((at, n) => ({ cells: [written(at), ...traces.map(trace => written(trace.y[n]))], act: () => null })),
  }))
}
