// Runs the conformance list in Node.js: node node.mjs CONTROL_URL OPTIONS_JSON NAME...
import { run } from './conformance.js'
import * as lib from '../dist/client.js'

const [control, options, ...names] = process.argv.slice(2)
console.log(JSON.stringify(await run(lib, control, names, JSON.parse(options))))
