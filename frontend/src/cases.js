// Numbers as they are sent, and lengths.
export const isArray = value => value !== null && typeof value === "object" && "array" in value

// A length is a number of pixels, or [share of the width, pixels].
export const measure = (length, width) => typeof length === "number" ? length : length[0] * width + length[1]

// An array of lengths, or of pixels -> pixels.
export const along = ({ values, shape }, px) => shape.length === 1 ? Array.from(values, value => px(value))
  : Array.from({ length: shape[0] }, (_, i) => px([values[2 * i], values[2 * i + 1]]))
