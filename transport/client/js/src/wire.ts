// Packets (docs/spec/realtime.md 3): how they are written and read. One unit is a packet behind its length;
// a binary WebSocket message carries one unit.

import { decodeText, MalformedError, Reader, Type, Writer } from './protobuf.js'
import { ALTERNATES_MAX, CLIENT_VERSION, Command, Op, SERVER, UNIT_MAX } from './protocol.js'

/** A packet. Numbers above 1000 in the specification are the extension: relSeq and ack. */
export interface Packet {
  opCode: number
  sequence: number
  targetPlayer: number
  targetGroup: number
  sender: number
  reliable: boolean
  clientVersion: number
  /** A view of the unit. */
  payload: Uint8Array
  /** Which inner message there is, and its bytes. */
  command: number
  inner: Uint8Array
  /** Number of this reliable packet in its direction, 0 for none. */
  relSeq: number
  /** Highest number received from the other side, 0 for none. */
  ack: number
}

const nothing = new Uint8Array(0)

export function packet(fields: Partial<Packet>): Packet {
  return {
    opCode: 0, sequence: 0, targetPlayer: 0, targetGroup: 0, sender: 0, reliable: false, clientVersion: 0,
    payload: nothing, command: Command.none, inner: nothing, relSeq: 0, ack: 0, ...fields,
  }
}

/** Encodes a packet, without its length. */
export function encodePacket(p: Packet): Uint8Array {
  const w = new Writer()
  w.sint32(1, p.opCode)
  w.int32(2, p.sequence)
  w.int32(3, p.targetPlayer)
  w.int32(4, p.targetGroup)
  w.int32(5, p.sender)
  w.bool(6, p.reliable)
  w.int32(7, p.clientVersion)
  w.bytes(15, p.payload)
  if (p.command !== Command.none) w.message(p.command, p.inner)
  w.uint(1001, p.relSeq)
  w.uint(1002, p.ack)
  return w.written
}

/** Makes a unit of an encoded packet and an ack, 0 for none: the ack is the last field of a packet. */
export function unitOf(encoded: Uint8Array, ack = 0): Uint8Array<ArrayBuffer> {
  const tail = new Writer()
  tail.uint(1002, ack)
  const w = new Writer()
  w.varint(encoded.length + tail.written.length)
  w.raw(encoded)
  w.raw(tail.written)
  return w.written
}

/** Reads the first unit of a WebSocket message; what follows it is ignored. Throws MalformedError. */
export function decodeUnit(message: Uint8Array): Packet {
  let size = 0
  for (let at = 0; at < 5; at++) {
    const byte = message[at]
    if (byte === undefined) throw new MalformedError('the message ends inside its length')
    size += (byte & 0x7f) * 2 ** (7 * at)
    if (byte < 0x80) {
      if (size > UNIT_MAX || size > message.length - at - 1) throw new MalformedError('the length is wrong')
      return decodePacket(message.subarray(at + 1, at + 1 + size))
    }
  }
  throw new MalformedError('the length is too long')
}

function decodePacket(bytes: Uint8Array): Packet {
  const p = packet({})
  let parts: Uint8Array[] = []
  const r = new Reader(bytes)
  while (r.next()) {
    if (r.type === Type.varint) setInteger(p, r)
    if (r.type !== Type.bytes) continue
    if (r.number === 15) p.payload = r.bytes
    if (!isCommand(r.number)) continue
    checkInner(r.number, r.bytes)
    // Of different inner messages the last one wins; parts of the same one are joined, as protobuf says.
    if (p.command !== r.number) parts = []
    p.command = r.number
    parts.push(r.bytes)
  }
  p.inner = join(parts)
  return p
}

function join(parts: Uint8Array[]): Uint8Array {
  if (parts.length < 2) return parts[0] ?? nothing
  const w = new Writer()
  for (const part of parts) w.raw(part)
  return w.written
}

function setInteger(p: Packet, r: Reader): void {
  switch (r.number) {
    case 1: p.opCode = r.sint32; break
    case 2: p.sequence = r.int32; break
    case 3: p.targetPlayer = r.int32; break
    case 4: p.targetGroup = r.int32; break
    case 5: p.sender = r.int32; break
    case 6: p.reliable = r.bool; break
    case 7: p.clientVersion = r.int32; break
    case 1001: p.relSeq = r.uint; break
    case 1002: p.ack = r.uint; break
  }
}

function isCommand(number: number): boolean {
  return number >= 30 && number <= 43 && number !== 39
}

/** Fields of inner messages that are text. */
const texts: Record<number, readonly number[]> = { [Command.login]: [1, 1002], [Command.loginResult]: [2, 6, 1008, 1009], [Command.verifyIdentity]: [2] }

function checkInner(command: number, inner: Uint8Array): void {
  const r = new Reader(inner)
  while (r.next()) {
    if (r.type !== Type.bytes) continue
    if (texts[command]?.includes(r.number)) decodeText(r.bytes)
    if (command === Command.membershipUpdate && r.number === 2) unpack(r.bytes)
  }
}

function unpack(list: Uint8Array): number[] {
  const values: number[] = []
  const r = new Reader(list)
  while (r.more) {
    r.varint()
    values.push(r.int32)
  }
  return values
}

/** What a client says when it logs in. */
export interface Login {
  playerSessionId: string
  caps: number
  reconnectToken: string
  /** Highest number received from the host. */
  lastReceived: number
}

export function encodeLogin(l: Login, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const w = new Writer()
  w.text(1, l.playerSessionId)
  w.int32(2, CLIENT_VERSION)
  w.uint(1001, l.caps)
  w.text(1002, l.reconnectToken)
  w.uint(1003, l.lastReceived)
  return unitOf(encodePacket(packet({ opCode: Op.login, targetPlayer: SERVER, reliable: true, payload, command: Command.login, inner: w.written })))
}

/** The host's answer to a login. What the extension adds is 0 or empty for a host without it. */
export interface LoginResult {
  success: boolean
  reconnectToken: string
  peerId: number
  caps: number
  /** Highest number the host has received from the client. */
  lastReceived: number
  outcome: number
  windowMs: number
  /** Number before the first packet that follows. */
  base: number
  /** 0: a refusal is final. */
  retryAfterMs: number
  /** Messages that were dropped before they had a number. */
  lost: number
  /** Addresses of the host that runs the game session, if it is another one. */
  endpoints: string
  /** Addresses of other hosts, which know what became of the game session if this one cannot be reached. */
  alternates: string[]
  /** Why the game session is over; 0: it is not. */
  over: number
}

/** Reads LOGIN_RESPONSE, which must be the first packet of a connection. */
export function decodeLoginResult(p: Packet): LoginResult {
  if (p.opCode !== Op.loginResponse || p.command !== Command.loginResult) throw new MalformedError(`the host began with op code ${p.opCode}`)
  const result: LoginResult = {
    success: false, reconnectToken: '', peerId: 0, caps: 0, lastReceived: 0, outcome: 0, windowMs: 0, base: 0, retryAfterMs: 0, lost: 0,
    endpoints: '', alternates: [], over: 0,
  }
  const r = new Reader(p.inner)
  while (r.next()) {
    if (r.type === Type.bytes) {
      switch (r.number) {
        case 2: result.reconnectToken = decodeText(r.bytes); break
        case 1008: result.endpoints = decodeText(r.bytes); break
        case 1009: if (result.alternates.length < ALTERNATES_MAX) result.alternates.push(decodeText(r.bytes)); break
      }
    }
    if (r.type !== Type.varint) continue
    switch (r.number) {
      case 1: result.success = r.bool; break
      case 3: result.peerId = r.int32; break
      case 1001: result.caps = r.uint; break
      case 1002: result.lastReceived = r.uint; break
      case 1003: result.outcome = r.uint; break
      case 1004: result.windowMs = r.uint; break
      case 1005: result.base = r.uint; break
      case 1006: result.retryAfterMs = r.uint; break
      case 1007: result.lost = r.uint; break
      case 1010: result.over = r.uint; break
    }
  }
  return result
}

/** Makes a packet that joins, leaves or asks for a group. */
export function groupCommand(opCode: number, command: number, group: number): Packet {
  const w = new Writer()
  w.int32(1, group)
  return packet({ opCode, targetPlayer: SERVER, command, inner: w.written })
}

/** Reads the group and the players of GROUP_MEMBERSHIP_UPDATE. */
export function decodeMembership(p: Packet): { group: number; players: number[] } {
  let group = 0
  const players: number[] = []
  const r = new Reader(p.inner)
  while (r.next()) {
    if (r.type === Type.varint && r.number === 1) group = r.int32
    else if (r.type === Type.varint && r.number === 2) players.push(r.int32)
    else if (r.type === Type.bytes && r.number === 2) for (const one of unpack(r.bytes)) players.push(one)
  }
  return { group, players }
}
