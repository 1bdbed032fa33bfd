// Bundles src/ and the d3 modules into what the package ships: `npm install && npm run build`.
import { build } from "esbuild"
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs"

const out = "../viz_model/drawing/browser"
// The app's module; and for a picture that is saved as a file, what draws that one alone.
for (const [from, to] of [["index", "app"], ["file", "viz"]]) await build({
  entryPoints: [`src/${from}.js`], bundle: true, format: "esm", target: "es2022", minify: true,
  legalComments: "none", outfile: `${out}/${to}.js`,
})
const sheets = ["viz", "corner", "island", "mask", "numbers", "parts", "plot", "search", "sketch", "slides", "terms", "tree", "walk"].map(name => readFileSync(`src/${name}.css`, "utf8"))
writeFileSync(`${out}/viz.css`, sheets.join(""))

// The browser asks for KaTeX with the first formula of a page.
await build({ entryPoints: ["node_modules/katex/dist/katex.mjs"], format: "esm", minify: true, legalComments: "none", outfile: `${out}/katex.js` })
cpSync("node_modules/katex/dist/katex.min.css", `${out}/katex.css`)
for (const font of readdirSync("node_modules/katex/dist/fonts").filter(name => name.endsWith(".woff2"))) cpSync(`node_modules/katex/dist/fonts/${font}`, `${out}/fonts/${font}`)

// Plotly, with the first picture that it draws.
await build({ stdin: { contents: 'export { default } from "plotly.js-basic-dist-min"', resolveDir: "." }, bundle: true, format: "esm", minify: true, legalComments: "none", outfile: `${out}/plotly.js` })

// Every module that is in the bundle, with the terms it comes under.
const names = ["d3-color", "d3-dispatch", "d3-ease", "d3-interpolate", "d3-selection", "d3-timer", "d3-transition", "katex", "plotly.js-basic-dist-min"]
const notice = names.map(name => {
  const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"))
  return `${name} ${version}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`
})
writeFileSync(`${out}/LICENSES.txt`, `viz.js holds these modules:\n\n${notice.join("\n---\n\n")}`)
