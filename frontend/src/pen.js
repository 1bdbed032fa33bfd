// What a model writes comes through a mount of its own: the page is then neither made nor sent again with it.
const WAIT = 4000 // ms for an answer
const pen = globalThis[Symbol.for("viz-model.pen")] ??= { waiting: new Map(), asked: 0, tell: null, under: 0, queue: [] }

export function mount(root, header, arrays, tell) {
  pen.tell = tell
  const answer = pen.waiting.get(header.asked)
  pen.waiting.delete(header.asked)
  if (header.asked === pen.under) pen.under = 0
  answer?.(header)
  next()
  return () => { pen.tell = pen.tell === tell ? null : pen.tell }
}
mount.stays = true

// Places (viz_model/app/writing.py) that follow `ids`; the answer comes later. One question is under way at a time.
export function ask(question, answer) {
  const asked = ++pen.asked + Date.now() % 1e6 * 1000
  pen.waiting.set(asked, answer)
  pen.queue.push({ ...question, asked })
  next()
}
function next() {
  if (pen.under || !pen.queue.length) return
  if (!pen.tell) return void setTimeout(next, 50)
  const question = pen.queue.shift()
  pen.under = question.asked
  tell(question)
}
// A run of the page may come between a question and its answer: it is asked again then.
function tell(question, times = 0) {
  if (pen.under !== question.asked) return
  pen.tell?.("asked", { ...question, times }, true)
  setTimeout(tell, WAIT, question, times + 1)
}
