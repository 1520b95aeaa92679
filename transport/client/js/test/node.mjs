// Runs both lists in Node.js: node node.mjs CONTROL_URL PARTS OPTIONS_JSON NAME... With the option `package` it takes the WebSocket of
// that package. PARTS is the module with everything in src; without it, the list in virtual time is left out, and what follows: the units of
// the standard input, one a line in hex, are decoded, and each is answered with a line of JSON.
import { createInterface } from 'node:readline'
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
const inside = parts === '' ? null : await import(pathToFileURL(parts))
if (inside) results.push(...await life.run(inside, names))
console.log(JSON.stringify(results))
if (inside) {
  const { decodeUnit, encodePacket, unitOf, decodeMembership, decodeLoginResult } = inside
  const hex = bytes => Buffer.from(bytes).toString('hex')
  for await (const line of createInterface({ input: process.stdin })) {
    let answer = null
    try {
      const p = decodeUnit(new Uint8Array(Buffer.from(line, 'hex')))
      answer = { ...p, payload: hex(p.payload), inner: hex(p.inner), again: Math.max(p.relSeq, p.ack) < 2 ** 53 ? hex(unitOf(encodePacket(p))) : '' }
      if (p.command === 43) answer.membership = decodeMembership(p)
      if (p.command === 31) answer.login = decodeLoginResult({ ...p, opCode: -1 })
    } catch (error) {
      if (error.name !== 'MalformedError') throw error
    }
    console.log(JSON.stringify(answer))
  }
}
