import { pick } from "./pick.js"

// A picture holds several selections: what differs between them is { case: [a value for each] }.
export const isArray = value => value !== null && typeof value === "object" && "array" in value

// Which of its cases a picture shows for a selection; undefined where the server has yet to send it.
export const caseOf = (header, selection) => header.cases[header.by.map(name => selection[name]).join(",")]

export function resolve(value, now, arrays, place) {
  const one = value !== null && typeof value === "object" && "case" in value ? value.case[now] : value
  return pick(one, place, arrays)
}

// A length is a number of pixels, or [share of the width, pixels].
export const measure = (length, width) => typeof length === "number" ? length : length[0] * width + length[1]

// An array of lengths, or of pixels -> pixels.
export const along = ({ values, shape }, px) => shape.length === 1 ? Array.from(values, value => px(value))
  : Array.from({ length: shape[0] }, (_, i) => px([values[2 * i], values[2 * i + 1]]))
