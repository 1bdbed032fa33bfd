// Bundles src/ and the d3 modules into what the package ships: `npm install && npm run build`.
import { build } from "esbuild"
import { readFileSync, writeFileSync } from "node:fs"

const out = "../viz_model/drawing/browser"
await build({
  entryPoints: ["src/index.js"], bundle: true, format: "esm", target: "es2022", minify: true,
  legalComments: "none", outfile: `${out}/viz.js`,
})
const sheets = ["viz", "corner", "film", "mask", "numbers", "parts", "sketch", "slides", "terms", "tree"].map(name => readFileSync(`src/${name}.css`, "utf8"))
writeFileSync(`${out}/viz.css`, sheets.join(""))

// Every module that is in the bundle, with the terms it comes under.
const names = ["d3-color", "d3-dispatch", "d3-ease", "d3-interpolate", "d3-selection", "d3-timer", "d3-transition"]
const notice = names.map(name => {
  const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"))
  return `${name} ${version}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`
})
writeFileSync(`${out}/LICENSES.txt`, `viz.js holds these modules:\n\n${notice.join("\n---\n\n")}`)
