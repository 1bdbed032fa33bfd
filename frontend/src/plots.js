// What is asked of the page's Plotly figures: which number a cell is, and all of them as tables. Plotly's heatmaps
// select nothing in Streamlit, but every plot says what was clicked, and its traces say in `meta` which number that is.
import { afterChanges, reachScrolling } from "./reach.js"
import { offerNumbers, openNumbers, takeNumbersBack } from "./tables.js"
import { whereIs } from "./where.js"

export function plots(root, { words }, arrays, tell) {
  const known = (plot, curve, row, column) => {
    const cells = plot.data[curve]?.meta?.cells
    return cells ? whereIs(cells, row, column) : null
  }
  const said = (plot, point) => {
    const number = point.pointNumber ?? point.pointIndex
    return known(plot, point.curveNumber, ...(Array.isArray(number) ? number : [number, number]))
  }

  // From the keyboard: a cell of the table asks as its mark does.
  const actionOf = plot => (row, column) => {
    const place = row.place(column), where = place[1] < 0 ? null : known(plot, row.curve, ...place)
    if (where) return () => tell("picked", where)
    const trace = plot.data[row.curve]
    if (!plot._fullLayout.clickmode.includes("select") || !trace?.customdata) return null
    const [n] = place
    const point = { data: trace, curveNumber: row.curve, pointNumber: n, pointIndex: n, customdata: trace.customdata[n] }
    return () => plot.emit("plotly_selected", { points: [point] })
  }
  const stop = afterChanges(() => {
    offerNumbers(words, plot => openNumbers(root, plot, words, actionOf(plot)))
    reachScrolling()
  })

  // A plot is met when the pointer comes to it, so that it does not matter when it was drawn.
  const met = new Map()
  const meet = event => {
    const plot = event.target.closest?.(".js-plotly-plot")
    if (!plot?.on || met.has(plot)) return
    for (const known of met.keys()) if (!known.isConnected) met.delete(known)
    const clicked = ({ points }) => {
      const found = points.map(point => said(plot, point)).find(Boolean)
      if (found) tell("picked", found)
    }
    const hovered = ({ points }) => point(plot, points.some(p => said(plot, p)))
    const left = () => point(plot, false)
    plot.on("plotly_click", clicked)
    plot.on("plotly_hover", hovered)
    plot.on("plotly_unhover", left)
    met.set(plot, { plotly_click: clicked, plotly_hover: hovered, plotly_unhover: left })
  }
  const point = (plot, can) => plot.querySelectorAll(".nsewdrag").forEach(layer => {
    layer.style.cursor = can ? "pointer" : ""
  })
  const events = ["pointerover", "pointerdown"]
  events.forEach(name => document.addEventListener(name, meet, true))
  return () => {
    stop()
    takeNumbersBack()
    events.forEach(name => document.removeEventListener(name, meet, true))
    for (const [plot, handlers] of met) {
      for (const [name, handler] of Object.entries(handlers)) plot.removeListener?.(name, handler)
    }
  }
}
