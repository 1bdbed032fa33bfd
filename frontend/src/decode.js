// The inverse of viz_model.drawing.scene.encode: length, JSON header, numbers.
const TYPES = { f4: Float32Array, i1: Int8Array, u1: Uint8Array, i4: Int32Array }

export function decode(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const length = view.getUint32(0, true)
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)))
  let at = 4 + length
  const arrays = header.arrays.map(({ type, shape, scale }) => {
    const Type = TYPES[type], count = shape.reduce((n, size) => n * size, 1)
    const values = new Type(bytes.slice(at, at + count * Type.BYTES_PER_ELEMENT).buffer)
    at += count * Type.BYTES_PER_ELEMENT
    return { values: scale ? Float32Array.from(values, n => n === -128 ? NaN : n * scale) : values, shape, coarse: !!scale }
  })
  return { header, arrays }
}
