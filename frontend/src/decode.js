// The inverse of viz_model.drawing.scene.encode: length, JSON header, numbers.
const TYPES = { f4: Float32Array, i1: Int8Array, u1: Uint8Array, u2: Uint16Array, i4: Int32Array }

export function decode(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const length = view.getUint32(0, true)
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)))
  let at = 4 + length
  const arrays = header.arrays.map(({ type, shape, scale, lower }) => {
    const Type = TYPES[type], n = shape.at(-1), whole = shape.reduce((count, size) => count * size, 1), count = lower ? whole / n * (n + 1) / 2 : whole
    const sent = new Type(bytes.slice(at, at + count * Type.BYTES_PER_ELEMENT).buffer)
    at += count * Type.BYTES_PER_ELEMENT
    const values = scale ? Float32Array.from(sent, n => n === -128 ? NaN : n * scale) : sent
    return { values: lower ? squares(values, n, whole / (n * n)) : values, shape, coarse: !!scale }
  })
  const { lists, ...rest } = header
  return { header: lists ? whole(rest, lists) : header, arrays }
}

// A header with the long lists in their places, each of which is sent once.
function whole(value, lists) {
  if (value === null || typeof value !== "object") return value
  if ("list" in value) return lists[value.list]
  for (const name in value) value[name] = whole(value[name], lists)
  return value
}

// Rows of which each ends at the diagonal -> rows of n, with nothing behind it; of so many matrices.
function squares(values, n, count) {
  const whole = new Float32Array(count * n * n).fill(NaN)
  for (let row = 0, at = 0; row < count * n; row++) {
    const length = row % n + 1
    whole.set(values.subarray(at, at += length), row * n)
  }
  return whole
}
