// What is asked of the page's Plotly figures: which number a cell is, and all of them as tables. Plotly's heatmaps
// select nothing in Streamlit, but every plot says what was clicked, and its traces say in `meta` which number that is.
export default function (component) {
  const { setTriggerValue, data, parentElement } = component
  const known = (plot, curve, row, column) => {
    const cells = plot.data[curve]?.meta?.cells
    return cells ? whereIs(cells, row, column) : null
  }
  const said = (plot, point) => {
    const number = point.pointNumber ?? point.pointIndex
    return known(plot, point.curveNumber, ...(Array.isArray(number) ? number : [number, number]))
  }

  // From the keyboard: a cell of the table asks as its mark does.
  const root = parentElement.querySelector(".root")
  const open = plot => openNumbers(root, plot, data, (row, c) => {
    const place = row.place(c), where = place[1] < 0 ? null : known(plot, row.curve, ...place)
    const points = plot.data[row.curve]
    if (where) return () => setTriggerValue("picked", where)
    if (plot._fullLayout.clickmode.includes("select") && points?.customdata) {
      const point = { curveNumber: row.curve, pointNumber: place[0], pointIndex: place[0], customdata: points.customdata[place[0]] }
      return () => plot.emit("plotly_selected", { points: [{ ...point, data: points }] })
    }
    return null
  })
  const stop = afterChanges(() => {
    offerNumbers(data, open)
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
      if (found) setTriggerValue("picked", found)
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
