// What is chosen stays in sight: of a picture that scrolls within the page, such as all heads of a deep model, the
// chosen mark is brought to the middle when another one is chosen elsewhere. After the frame, since it measures.
export function keepInSight(panel, element) {
  if (panel.chosen === element?.dataset.mark) return
  panel.chosen = element?.dataset.mark
  if (element) setTimeout(() => bring(element))
}

function bring(element) {
  const box = scroller(element)
  if (!box) return
  const own = element.getBoundingClientRect(), all = box.getBoundingClientRect()
  if (own.top >= all.top && own.bottom <= all.bottom) return
  box.scrollTop += (own.top + own.bottom - all.top - all.bottom) / 2
}

// The box within the page that scrolls what is in it; the page and the sidebar are as high as the window.
function scroller(element) {
  let box = element.getRootNode().host
  while (box && box.clientHeight < innerHeight) {
    const { overflowY } = getComputedStyle(box)
    if (/auto|scroll/.test(overflowY) && box.scrollHeight > box.clientHeight + 1) return box
    box = box.parentElement
  }
}
