// Gray values 0 to 255 as ink in the color of writing.
export function paint(canvas, values, [height, width]) {
  if (!canvas.isConnected) return // it has no ink, and is not seen
  Object.assign(canvas, { width, height })
  const pen = canvas.getContext("2d"), image = pen.createImageData(width, height)
  const ink = getComputedStyle(canvas).color.match(/[\d.]+/g).slice(0, 3).map(Number)
  values.forEach((value, n) => image.data.set([...ink, value], 4 * n))
  pen.putImageData(image, 0, 0)
}

// The same in the next frame, when it stands on the page.
export function painted(canvas, values, shape) {
  requestAnimationFrame(() => paint(canvas, values, shape))
  return canvas
}
