// How numbers are written: the same rules as viz_model/drawing/digits.py, which a test compares.
const fixed = (number, digits, sign = "") => {
  if (!Number.isFinite(number)) return number < 0 ? "−∞" : "∞"
  const rounded = Math.abs(number).toFixed(digits)
  return (number < 0 && Number(rounded) ? "−" : sign) + rounded
}
const percent = p => p > 0 && p < 0.0001 ? "<0.01%" : p >= 0.9995 && p < 1 ? ">99.9%" : `${fixed(100 * p, p > 0 && p < 0.01 ? 2 : 1)}%`
const share = value => value >= 0.995 && value < 1 ? percent(value) : `${fixed(100 * value, value > 0 && value < 0.0995 ? 1 : 0)}%`
const whole = (number, digits) => fixed(number, digits).replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, ",")
const bare = text => text.includes(".") ? text.replace(/\.?0+$/, "") : text
const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" }
function significant(number, digits) {
  if (!number || !Number.isFinite(number)) return fixed(number, 0)
  const [mantissa, power] = Math.abs(number).toExponential(digits - 1).split("e"), sign = number < 0 ? "−" : ""
  if (power >= -5 && power < 15) return sign + bare(power >= digits - 1 ? String(Number(`${mantissa}e${power}`)) : Number(`${mantissa}e${power}`).toFixed(digits - 1 - power))
  return `${sign}${bare(mantissa)}\u00a0×\u00a010${String(Number(power)).replace(/[-\d]/g, one => RAISED[one])}`
}
const RULES = { percent, share }

export function written(number, how) {
  if (Number.isNaN(number)) return "–"
  if (RULES[how]) return RULES[how](number)
  if (how.startsWith("whole")) return whole(number, Number(how.slice(5)))
  if (how[0] === "g") return significant(number, Number(how.slice(1)))
  const [sign, digits] = how[0] === "+" ? ["+", how.slice(1)] : ["", how]
  return digits[0] === "%" ? `${fixed(100 * number, Number(digits.slice(1)), sign)}%` : fixed(number, Number(digits), sign)
}
