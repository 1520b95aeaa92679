// The numbering of one player session, across its connections (docs/spec/reliability.md 2.4). It has no
// timers and no connections.

import { NotResumedError, NumbersError } from './errors.js'
import { Outbox } from './outbox.js'
import { CAP_MOVES, CAP_NUMBERS, OUTCOME_NEW } from './protocol.js'
import { encodePacket, packet, unitOf, type Login, type LoginResult, type Packet } from './wire.js'

/** How many packets may come before they are acknowledged at once. */
const ACKS_MAX = 16
/** The same for a client whose own packets carry the acks: its next one will come soon. */
const ACKS_RIDING_MAX = 64

/** The result of a login. */
export interface Resumption {
  /** Packets that will be written again. */
  replay: number
  /** Messages of the host that are lost. */
  gap: number
}

export class Numbers {
  private numbering: 'unknown' | 'off' | 'on' = 'unknown'
  private token = ''
  private readonly out = new Outbox()
  /** Number of the newest packet, and the highest number that was ever written. */
  private last = 0
  private sent = 0
  /** Highest number received. */
  private received = 0
  /** Messages without a number that the host has lost, by its last answer to a login. */
  private dropped = 0

  // of this connection
  private told = 0 // highest number acknowledged to the host
  private heard = 0 // highest number acknowledged by the host
  private ackOverdue = false
  private acksRide = false

  constructor(private readonly bytesMax: number, private readonly messagesMax: number) {}

  /** Whether both sides number their packets. Otherwise packets are kept until they are written only. */
  get on(): boolean {
    return this.numbering === 'on'
  }

  /** Bytes of the packets that are kept. */
  get bytes(): number {
    return this.out.bytes
  }

  /** Whether there is room for a packet of a size. An empty buffer has room for any one. */
  room(size: number): boolean {
    return this.out.count === 0 || this.out.count < this.messagesMax && this.out.bytes + size <= this.bytesMax
  }

  /** Queues a packet, numbered unless it is fast. Returns false, and changes nothing, if there is no room. */
  put(p: Packet, fast: boolean): boolean {
    p.reliable = !fast || !this.on
    p.relSeq = this.on && !fast ? this.last + 1 : 0
    const bytes = encodePacket(p)
    if (!this.room(bytes.length)) return false
    this.out.add(bytes, p.relSeq, fast)
    this.last = Math.max(this.last, p.relSeq)
    return true
  }

  /** The next unit to write: a packet, with an ack if it is numbered, or an ack that is due. Again: it was written before, on another connection. */
  next(): { unit: Uint8Array<ArrayBuffer>; again: boolean } | undefined {
    const kept = this.out.peek()
    if (kept === undefined) {
      if (!this.ackDue) return undefined
      this.acksRide = false
      return { unit: unitOf(encodePacket(packet({ reliable: true, ack: this.acknowledge() }))), again: false }
    }
    let ack = 0
    if (kept.number !== 0) {
      this.acksRide ||= this.ackOpen
      ack = this.acknowledge()
    }
    const again = kept.number !== 0 && kept.number <= this.sent
    this.sent = Math.max(this.sent, kept.number)
    this.out.wrote(kept)
    return { unit: unitOf(kept.bytes, ack), again }
  }

  /** Whether everything is written. */
  get idle(): boolean {
    return this.out.peek() === undefined && !this.ackDue
  }

  /** Whether there is something to acknowledge. */
  get ackOpen(): boolean {
    return this.on && this.received > this.told
  }

  /** Whether it must not wait any longer. */
  get ackDue(): boolean {
    return this.ackOpen && (this.ackOverdue || this.received - this.told >= (this.acksRide ? ACKS_RIDING_MAX : ACKS_MAX))
  }

  /** An ack has waited long enough. */
  ackLate(): void {
    this.ackOverdue = this.ackOpen
  }

  private acknowledge(): number {
    this.told = this.received
    this.ackOverdue = false
    return this.told
  }

  /**
   * Processes the number and the ack of a received packet, 0 for none. Returns whether the packet is no duplicate.
   * Throws NumbersError for a violation, after which the connection must end.
   */
  take(number: number, ack: number): boolean {
    if (!this.on) return true
    if (ack !== 0) {
      if (ack > this.sent || ack < this.heard) throw new NumbersError(`ack ${ack} after ${this.heard}, of ${this.sent} sent`)
      this.heard = ack
      this.out.trim(ack)
    }
    if (number === 0) return true
    if (number <= this.received) return false
    if (number > this.received + 1) throw new NumbersError(`packet ${number} after ${this.received}`)
    this.received = number
    return true
  }

  /** What a login says so that the host resumes the player session. */
  login(playerSessionId: string): Login {
    return { playerSessionId, caps: CAP_NUMBERS | CAP_MOVES, reconnectToken: this.token, lastReceived: this.on ? this.received : 0 }
  }

  /** Processes the answer to a login, which had reported `said` as received. An error is final: the player session cannot go on. */
  answer(r: LoginResult, said: number): Resumption {
    const on = (r.caps & CAP_NUMBERS) !== 0
    const done: Resumption = { replay: 0, gap: 0 }
    if (this.numbering === 'unknown') {
      if (on) { // a new player session, or one that another device has used before
        this.received = r.base
        this.last = this.sent = r.lastReceived
        this.dropped = r.lost
      }
    } else if (on !== this.on || on && r.outcome === OUTCOME_NEW) {
      throw new NotResumedError()
    } else if (on) {
      if (r.lastReceived > this.sent || r.lastReceived < this.arrived || r.base < said) {
        throw new NumbersError(`login answered with ${r.lastReceived} received of ${this.sent}, and base ${r.base} after ${said}`)
      }
      this.out.trim(r.lastReceived)
      done.replay = this.sent - r.lastReceived
      done.gap = Math.max(0, r.base - this.received) + Math.max(0, r.lost - this.dropped)
      this.received = Math.max(this.received, r.base)
      this.dropped = Math.max(this.dropped, r.lost)
    }
    this.numbering = on ? 'on' : 'off'
    this.token = r.reconnectToken
    this.told = this.heard = 0
    this.ackOverdue = this.acksRide = false
    this.out.rewind()
    return done
  }

  /** Grows when a packet has arrived on either side. */
  get progress(): number {
    return this.received + this.arrived
  }

  /** The highest number that is known to have arrived. */
  private get arrived(): number {
    const oldest = this.out.oldest()
    return oldest === 0 ? this.last : oldest - 1
  }
}
