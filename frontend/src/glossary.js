// Which terms a line of text holds. A form is what must stand before it, the term, and what must stand after.

const JOINED = /[\p{L}\p{N}_-]/u, LETTER = /[\p{L}\p{N}_]/u
const lower = /^[a-z]/
const before = (text, at) => at > 0 && JOINED.test(text.slice(Math.max(0, at - 2), at).match(/.$/su)[0])
const after = (text, at) => at < text.length && LETTER.test(String.fromCodePoint(text.codePointAt(at)))
// A sentence may begin with a term.
const begins = (text, form, at) => text.startsWith(form, at) ||
  lower.test(form) && text[at] === form[0].toUpperCase() && text.startsWith(form.slice(1), at + 1)

// Forms by the character that the term begins with: at each character of a text only few are tried, of those that begin
// at one place the longest first. `rows` are [forms, says, source]; `spaced` is whether the language has spaces between words.
export function patterns(rows, spaced) {
  const all = rows.flatMap(([forms, says, source]) => {
    const term = { name: forms[0][1], says, source }
    return forms.map(form => ({ form, term }))
  })
  all.sort((a, b) => b.form.join("").length - a.form.join("").length)
  const byFirst = new Map()
  for (const one of all) {
    const [first] = one.form[1]
    for (const letter of new Set([first, lower.test(first) ? first.toUpperCase() : first])) {
      byFirst.set(letter, [...(byFirst.get(letter) ?? []), one])
    }
  }
  return { byFirst, spaced }
}

function stands(text, at, [lead, core, rest], spaced) {
  const start = at - lead.length, end = at + core.length
  return begins(text, core, at) && start >= 0 && begins(text, lead, start) && text.startsWith(rest, end) &&
    !(spaced && (before(text, start) || after(text, end + rest.length)))
}

export function* found(text, { byFirst, spaced }) {
  for (let at = 0; at < text.length; at++) {
    const one = byFirst.get(text[at])?.find(({ form }) => stands(text, at, form, spaced))
    if (!one) continue
    const end = at + one.form[1].length
    yield { term: one.term, start: at, end }
    at = end - 1
  }
}
