// Decodes the units of the standard input, one a line in hex, and answers each with a line of JSON: node wire.mjs MODULE
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const { decodeUnit, encodePacket, unitOf, decodeMembership, decodeLoginResult } = await import(pathToFileURL(process.argv[2]))
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
