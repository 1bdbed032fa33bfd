// Clicks on cells that are numbers of the run. Plotly's heatmaps select nothing in Streamlit, but every plot
// on the page says what was clicked, and its traces say in `meta` which number that is.
import { whereIs } from "./where.js"

export function plots(root, header, arrays, tell) {
  const said = (plot, point) => {
    const cells = plot.data[point.curveNumber]?.meta?.cells
    if (!cells) return null
    const number = point.pointNumber ?? point.pointIndex
    return whereIs(cells, ...(Array.isArray(number) ? number : [number, number]))
  }

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
    events.forEach(name => document.removeEventListener(name, meet, true))
    for (const [plot, handlers] of met) {
      for (const [name, handler] of Object.entries(handlers)) plot.removeListener?.(name, handler)
    }
  }
}
