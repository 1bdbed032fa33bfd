// A question that this run answers, to be guessed first. A guess belongs to its sentence and to what was selected.
import { radios } from "./chooser.js"
import { child } from "./nodes.js"
import { filled, write } from "./lines.js"
import { pick } from "./pick.js"

export function quiz(me, root, item) {
  root.className = "quiz"
  const at = value => pick(value, me.place, me.arrays)
  const asked = filled(item.asked, me), options = at(item.options), right = at(item.right)
  const isHere = asked !== undefined && options !== undefined
  root.toggleAttribute("data-waiting", !isHere)
  if (!isHere) return // what stood there stays, faint, until the answer comes
  const key = JSON.stringify([asked, options])
  if (root.key !== key || (right !== undefined && root.right !== undefined && right !== root.right)) root.guess = -1
  Object.assign(root, { key, right })
  root.hidden = !asked || right < 0
  const words = child(root, 0, "div", "asked"), group = child(root, 1, "div", "options"), answer = child(root, 2, "div", "answer")
  write(words, `${me.page.words.guess}${asked}`)
  radios(group, words.textContent, options, root.guess, n => {
    root.guess = n
    if (right === undefined) me.ask() // a run has yet to find it
    quiz(me, root, item)
  })
  if (root.guess < 0 || right === undefined) return write(answer, "")
  const isRight = root.guess === right, own = at(item.own)
  answer.setAttribute("role", "status")
  write(answer, `${isRight ? me.page.words.right : me.page.words.wrong} ${filled(item.said, me) ?? ""}${isRight || !own?.length ? "" : `<p>${own[root.guess].replace(/[&<>]/g, "")}</p>`}`)
}
