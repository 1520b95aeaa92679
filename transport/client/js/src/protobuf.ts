// The part of protobuf that the protocol uses. It accepts and refuses what the host's decoder does
// (messages/wire), so that both sides agree about every packet.

/** A packet that cannot be read. */
export class MalformedError extends Error {
  override name = 'MalformedError'
}

export const Type = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const

const FIELD_MAX = 2 ** 29 - 1
const FIELD_IN_GROUP_MAX = 2 ** 31 - 1
const GROUP_DEPTH_MAX = 100

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const utf8 = new TextEncoder()

export function encodeText(text: string): Uint8Array {
  return utf8.encode(text)
}

/** Decodes text of the protocol, which must be UTF-8. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes)
  } catch {
    throw new MalformedError('text that is not UTF-8')
  }
}

/** Reads the fields of one message. */
export class Reader {
  private at = 0
  /** The field that `next` has read: its number, its wire type and its value. */
  number = 0
  type = 0
  bytes = new Uint8Array(0)
  private low = 0
  private high = 0

  constructor(private readonly input: Uint8Array) {}

  /** The integer just read; beyond 2^53 it is not exact. */
  get uint(): number {
    return this.high * 0x100000000 + this.low
  }

  /** The integer just read, as int32. */
  get int32(): number {
    return this.low | 0
  }

  /** The integer just read, as sint32. */
  get sint32(): number {
    return (this.low >>> 1) ^ -(this.low & 1)
  }

  get bool(): boolean {
    return this.low !== 0 || this.high !== 0
  }

  get more(): boolean {
    return this.at < this.input.length
  }

  /** Reads the next field; false at the end. Groups and values of fixed size are stepped over: no packet has any. */
  next(): boolean {
    if (!this.more) return false
    this.tag(FIELD_MAX)
    const type = this.type
    if (type === Type.varint) this.varint()
    else if (type === Type.bytes) this.bytes = this.delimited()
    else this.skip(this.number, type, GROUP_DEPTH_MAX)
    this.type = type
    return true
  }

  private tag(max: number): void {
    this.varint()
    this.type = this.low & 7
    const number = Math.floor(this.uint / 8)
    if (number === 0 || number > max) throw new MalformedError('a field number that does not exist')
    this.number = number
  }

  /** Reads an integer of up to 64 bits. */
  varint(): void {
    let low = 0
    let high = 0
    for (let i = 0; i < 10; i++) {
      const byte = this.input[this.at]
      if (byte === undefined) throw new MalformedError('the packet ends inside a number')
      this.at++
      const bits = byte & 0x7f
      if (i < 4) low |= bits << (7 * i)
      else if (i === 4) {
        low |= bits << 28
        high = bits >>> 4
      } else high |= bits << (7 * i - 32)
      if (byte < 0x80) {
        if (i === 9 && byte > 1) break
        this.low = low >>> 0
        this.high = high >>> 0
        return
      }
    }
    throw new MalformedError('a number of more than 64 bits')
  }

  private delimited(): Uint8Array<ArrayBuffer> {
    this.varint()
    const size = this.uint
    if (size > this.input.length - this.at) throw new MalformedError('the packet ends inside a field')
    const start = this.at
    this.at += size
    return this.input.subarray(start, this.at) as Uint8Array<ArrayBuffer>
  }

  private skip(number: number, type: number, depth: number): void {
    switch (type) {
      case Type.varint:
        this.varint()
        return
      case Type.bytes:
        this.delimited()
        return
      case Type.fixed64:
        this.step(8)
        return
      case Type.fixed32:
        this.step(4)
        return
      case Type.startGroup:
        if (depth === 0) throw new MalformedError('groups nest too deep')
        this.group(number, depth - 1)
        return
    }
    throw new MalformedError('a wire type that does not exist here')
  }

  private step(size: number): void {
    if (this.input.length - this.at < size) throw new MalformedError('the packet ends inside a field')
    this.at += size
  }

  private group(number: number, depth: number): void {
    for (;;) {
      this.tag(FIELD_IN_GROUP_MAX)
      const inner = this.number
      if (this.type === Type.endGroup) {
        this.number = number
        if (inner !== number) throw new MalformedError('a group ends with another number')
        return
      }
      this.skip(inner, this.type, depth)
      this.number = number
    }
  }
}

/** Writes one message. Fields with their default value are left out. */
export class Writer {
  private buffer = new Uint8Array(64)
  private size = 0

  /** What was written; valid until the next write. */
  get written(): Uint8Array<ArrayBuffer> {
    return this.buffer.subarray(0, this.size)
  }

  uint(number: number, value: number): void {
    if (value === 0) return
    this.varint(number * 8 + Type.varint)
    this.varint(value)
  }

  /** An int32: negative values take ten bytes. */
  int32(number: number, value: number): void {
    if (value >= 0) {
      this.uint(number, value)
      return
    }
    this.varint(number * 8 + Type.varint)
    this.varint(value >>> 0, 0xffffffff)
  }

  sint32(number: number, value: number): void {
    this.uint(number, ((value << 1) ^ (value >> 31)) >>> 0)
  }

  bool(number: number, value: boolean): void {
    this.uint(number, value ? 1 : 0)
  }

  text(number: number, value: string): void {
    this.bytes(number, encodeText(value))
  }

  bytes(number: number, value: Uint8Array): void {
    if (value.length > 0) this.message(number, value)
  }

  /** A message or bytes, also when empty. */
  message(number: number, value: Uint8Array): void {
    this.varint(number * 8 + Type.bytes)
    this.varint(value.length)
    this.raw(value)
  }

  raw(value: Uint8Array): void {
    this.reserve(value.length)
    this.buffer.set(value, this.size)
    this.size += value.length
  }

  /** An integer below 2^53, or the halves of one of 64 bits. */
  varint(value: number, high = Math.floor(value / 0x100000000)): void {
    this.reserve(10)
    let low = value >>> 0
    while (high > 0 || low > 0x7f) {
      this.buffer[this.size++] = (low & 0x7f) | 0x80
      low = ((low >>> 7) | (high << 25)) >>> 0
      high >>>= 7
    }
    this.buffer[this.size++] = low
  }

  private reserve(more: number): void {
    if (this.size + more <= this.buffer.length) return
    const grown = new Uint8Array(Math.max(2 * this.buffer.length, this.size + more))
    grown.set(this.buffer.subarray(0, this.size))
    this.buffer = grown
  }
}
