// The inverse of _frame in __init__.py. Stands before the components that are sent numbers.
function unframe(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const length = view.getUint32(0, true)
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)))
  return [header, new Float32Array(bytes.slice(4 + length).buffer)]
}
