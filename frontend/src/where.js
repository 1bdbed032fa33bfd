// Which number of the run a cell is: the inverse of viz_model.drawing.cells.Cells; null beyond its lists.

export function whereIs(cells, row, column) {
  const known = (n, list) => list ? list[n] : n
  const counts = {
    row: () => known(row, cells.rows), column: () => known(column, cells.columns), beside: () => known(column, cells.beside),
  }
  const index = cells.where.map(part => counts[part]?.() ?? part)
  return index.every(Number.isInteger) ? { site: cells.site, index } : null
}
