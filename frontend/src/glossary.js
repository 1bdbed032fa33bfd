// Which terms a line of text holds. A form is what must stand before it, the term, and what must stand after.

const plain = text => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
// A sentence may begin with a term.
const begun = text => /^[a-z]/.test(text) ? `[${text[0]}${text[0].toUpperCase()}]${plain(text.slice(1))}` : plain(text)

// `rows` are [forms, says, source]; `spaced` is whether the language has spaces between words.
export function patterns(rows, spaced) {
  const [left, right] = spaced ? ["(?<![\\p{L}\\p{N}_-])", "(?![\\p{L}\\p{N}_])"] : ["", ""]
  const forms = rows.flatMap(([forms, says, source]) => {
    const term = { name: forms[0][1], says, source }
    return forms.map(form => ({ form, term }))
  })
  // Of forms that begin at one place, the longest.
  forms.sort((a, b) => b.form.join("").length - a.form.join("").length)
  const one = ({ form: [before, core, after] }) =>
    `(${before ? `(?<=${left}${begun(before)})` : left}${begun(core)}${after ? `(?=${plain(after)}${right})` : right})`
  return { pattern: new RegExp(forms.map(one).join("|"), "gu"), terms: forms.map(({ term }) => term) }
}

export function* found(text, { pattern, terms }) {
  for (const match of text.matchAll(pattern)) {
    const which = match.findIndex((group, n) => n > 0 && group !== undefined) - 1
    yield { term: terms[which], start: match.index, end: match.index + match[0].length }
  }
}
