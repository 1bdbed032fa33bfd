// The inverse of viz_model.drawing.scene.encode: length, JSON header, numbers.
const TYPES = { f4: Float32Array, b2: Uint16Array, i1: Int8Array, u1: Uint8Array, u2: Uint16Array, i4: Int32Array }

// Numbers as they were sent, of which no more is decoded than is looked at: most are of other layers and heads.
class Numbers {
  constructor(sent, decoded, shape, coarse) {
    Object.assign(this, { sent, decoded, shape, coarse })
  }

  get values() {
    return this.whole ??= this.decoded(this.sent)
  }

  part(at, size) {
    return this.whole?.subarray(at, at + size) ?? this.decoded(this.sent.subarray(at, at + size))
  }
}

export function decode(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const length = view.getUint32(0, true)
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)))
  // One copy for all of them, in which each begins where its numbers may.
  const { buffer } = bytes.slice(4 + length)
  let at = 0
  const arrays = header.arrays.map(({ type, shape, scale, lower }) => {
    const Type = TYPES[type], n = shape.at(-1), whole = shape.reduce((count, size) => count * size, 1), count = lower ? whole / n * (n + 1) / 2 : whole
    const sent = new Type(buffer, at, count)
    at += Math.ceil(sent.byteLength / 4) * 4
    const decoded = scale ? coarse(scale) : type === "b2" ? bfloat16 : asSent
    return lower ? new Numbers(squares(decoded(sent), n, whole / (n * n)), asSent, shape, !!scale) : new Numbers(sent, decoded, shape, !!scale)
  })
  const { lists, ...rest } = header
  return { header: lists ? whole(rest, lists) : header, arrays }
}

const asSent = given => given

// A byte a number. Loops: `from` with a function takes ten times as long.
const coarse = scale => given => {
  const made = new Float32Array(given)
  for (let n = 0; n < made.length; n++) made[n] = made[n] === -128 ? NaN : made[n] * scale
  return made
}

// The upper halves of numbers in single precision.
function bfloat16(given) {
  const made = new Uint32Array(given)
  for (let n = 0; n < made.length; n++) made[n] <<= 16
  return new Float32Array(made.buffer)
}

// A header with the long lists in their places, each of which is sent once.
function whole(value, lists) {
  if (value === null) return value
  if ("list" in value) return lists[value.list]
  for (const name in value) if (typeof value[name] === "object") value[name] = whole(value[name], lists)
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
