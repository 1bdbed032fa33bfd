// A picture in a file of its own: nothing but what draws it.
import { decode } from "./decode.js"
import { scene } from "./scene.js"

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".viz"), { header, arrays } = decode(data)
  root.classList.add("viz", "viz-scene")
  return scene(root, header, arrays, setTriggerValue)
}
