// Runs both lists in Node.js: node node.mjs CONTROL_URL PARTS OPTIONS_JSON NAME... With the option `package` it takes the WebSocket of
// that package. PARTS is the module with everything in src; without it, the list in virtual time is left out.
import { pathToFileURL } from 'node:url'
import * as conformance from './conformance.js'
import * as life from './life.js'
import * as lib from '../dist/client.js'

const [control, parts, json, ...names] = process.argv.slice(2)
const options = JSON.parse(json)
if (options.package) {
  if (globalThis.WebSocket !== undefined) throw new Error('this Node.js has a WebSocket of its own')
  options.WebSocket = (await import(options.package)).default
}
const results = await conformance.run(lib, control, names, options)
if (parts !== '') results.push(...await life.run(await import(pathToFileURL(parts)), names))
console.log(JSON.stringify(results))
