/** One encoded packet that waits to be written, or to be acknowledged. */
export interface Kept {
  readonly bytes: Uint8Array
  /** 0 without numbers. */
  readonly number: number
  /** A fast message: it is not kept for another connection. */
  readonly fast: boolean
  /** It need not be written again, and stays in the queue while older packets do. */
  released: boolean
}

/** Encoded packets in order, from when they are accepted until they need not be sent again. */
export class Outbox {
  private queue: Kept[] = []
  private head = 0
  /** How many of the queue, from the head on, were written on this connection. */
  private written = 0
  /** Bytes of the packets that are not released. */
  bytes = 0

  get count(): number {
    return this.queue.length - this.head
  }

  add(bytes: Uint8Array, number: number, fast: boolean): void {
    this.queue.push({ bytes, number, fast, released: false })
    this.bytes += bytes.length
  }

  /** The first packet that was not written on this connection. */
  peek(): Kept | undefined {
    for (; this.written < this.count; this.written++) {
      const kept = this.queue[this.head + this.written]!
      if (!kept.released) return kept
    }
    return undefined
  }

  /** Notes that the packet of `peek` is written. Without a number it need not be kept. */
  wrote(kept: Kept): void {
    this.written++
    if (kept.number === 0) this.release(kept)
  }

  /** Releases what is acknowledged, up to a number. */
  trim(number: number): void {
    for (let kept = this.queue[this.head]; kept !== undefined && kept.number !== 0 && kept.number <= number; kept = this.queue[this.head]) this.release(kept)
  }

  /** Marks all packets as not written, for another connection, and releases the fast ones. */
  rewind(): void {
    this.written = 0
    for (const kept of this.queue.slice(this.head)) if (kept.fast && !kept.released) this.release(kept)
  }

  /** The number of the oldest packet that has one, 0 for none. */
  oldest(): number {
    for (let i = this.head; i < this.queue.length; i++) if (this.queue[i]!.number !== 0) return this.queue[i]!.number
    return 0
  }

  private release(kept: Kept): void {
    this.bytes -= kept.bytes.length
    kept.released = true
    while (this.head < this.queue.length && this.queue[this.head]!.released) {
      this.head++
      this.written = Math.max(0, this.written - 1)
    }
    if (this.head > 1024 && 2 * this.head > this.queue.length) { // or at its end: the front is garbage
      this.queue = this.queue.slice(this.head)
      this.head = 0
    } else if (this.head === this.queue.length) {
      this.queue = []
      this.head = 0
    }
  }
}
