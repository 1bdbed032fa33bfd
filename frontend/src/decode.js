// The inverse of viz_model.drawing.scene.encode: length, JSON header, numbers.
const TYPES = { f4: Float32Array, i1: Int8Array, u1: Uint8Array, i4: Int32Array }

export function decode(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const length = view.getUint32(0, true)
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)))
  let at = 4 + length
  const arrays = header.arrays.map(({ type, shape, scale, lower }) => {
    const Type = TYPES[type], count = lower ? shape[0] * (shape[0] + 1) / 2 : shape.reduce((n, size) => n * size, 1)
    const sent = new Type(bytes.slice(at, at + count * Type.BYTES_PER_ELEMENT).buffer)
    at += count * Type.BYTES_PER_ELEMENT
    const values = scale ? Float32Array.from(sent, n => n === -128 ? NaN : n * scale) : sent
    return { values: lower ? square(values, shape[0]) : values, shape, coarse: !!scale }
  })
  const { lists, ...rest } = header
  return { header: lists ? whole(rest, lists) : header, arrays }
}

// A header with the long lists in their places, each of which is sent once: one of them, or one for each case.
function whole(value, lists) {
  if (value === null || typeof value !== "object") return value
  if ("list" in value) return lists[value.list]
  if ("list_of_case" in value) return { case: value.list_of_case.map(n => lists[n]) }
  for (const name in value) value[name] = whole(value[name], lists)
  return value
}

// Rows of which each ends at the diagonal -> rows of n, with nothing behind it.
function square(values, n) {
  const whole = new Float32Array(n * n).fill(NaN)
  for (let row = 0; row < n; row++) {
    const begin = row * (row + 1) / 2
    whole.set(values.subarray(begin, begin + row + 1), row * n)
  }
  return whole
}
