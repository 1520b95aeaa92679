// A clock that tests turn, and a host without sockets: what the fake host of the Go SDK's tests is there.

const real = { setTimeout: globalThis.setTimeout.bind(globalThis), clearTimeout: globalThis.clearTimeout.bind(globalThis) }

/** Replaces the clock and the timers of the platform until `remove`. Time stands still unless `pass` lets it go on. */
export class Clock {
  now = 1000
  timers = new Map()
  last = 0
  channel = new MessageChannel() // timers would be slow: browsers make nested ones wait

  install() {
    globalThis.setTimeout = (call, ms = 0) => {
      this.timers.set(++this.last, { call, due: this.now + Math.max(0, Math.ceil(ms)), id: this.last }) // whole milliseconds, as the platforms'
      return this.last
    }
    globalThis.clearTimeout = id => this.timers.delete(id)
    Object.defineProperty(performance, 'now', { configurable: true, value: () => this.now })
  }

  remove() {
    Object.assign(globalThis, real)
    this.channel.port1.close()
    delete performance.now
  }

  /** Returns when all promises that could go on have done so. */
  async settle() {
    const { port1, port2 } = this.channel
    for (let n = 0; n < 3; n++) {
      await new Promise(resolve => {
        port1.onmessage = resolve
        port2.postMessage('')
      })
    }
  }

  /** Lets time pass, and all that is due happen. */
  async pass(ms) {
    const until = this.now + ms
    for (;;) {
      await this.settle()
      let next
      for (const t of this.timers.values()) if (t.due <= until && (next === undefined || t.due < next.due)) next = t
      if (next === undefined) break
      this.timers.delete(next.id)
      this.now = Math.max(this.now, next.due)
      next.call()
    }
    this.now = until
  }
}

/** One connection to a FakeHost: the WebSocket of the client. Events come in the order in which they happen, never while the client calls. */
class Link {
  readyState = 0
  bufferedAmount = 0
  onopen = null
  onmessage = null
  onclose = null
  onerror = null
  /** What the client closed it with. */
  how = undefined

  constructor(host, url) {
    this.host = host
    this.url = url
    host.links.push(this)
    host.at.push(host.clock.now)
    if (host.down || host.downAt.includes(new URL(url).hostname)) return // it never opens
    queueMicrotask(() => {
      if (this.readyState !== 0) return
      this.readyState = 1
      this.onopen?.({})
    })
  }

  send(unit) {
    if (this.readyState === 1) this.host.receive(this, unit.slice())
  }

  close(code) {
    this.how ??= code
    this.end(code, '')
  }

  end(code, reason) {
    if (this.readyState === 3) return
    this.readyState = 3
    queueMicrotask(() => this.onclose?.({ code, reason }))
  }

  /** Ends the connection as a broken network does. */
  cut() {
    this.end(1006, '')
  }

  /** Ends the connection with a close of the host. */
  bye(code) {
    this.end(code, `code ${code}`)
  }

  /** Passes a packet to the client. */
  deliver(packet) {
    const { encodePacket, unitOf } = this.host.lib
    const unit = unitOf(encodePacket(packet)).slice()
    queueMicrotask(() => this.onmessage?.({ data: unit.buffer }))
  }
}

/** A host of one player session with numbered messages. */
export class FakeHost {
  caps = 1
  windowMs = 30_000
  /** New connections never open. */
  down = false
  /** The same for those to these names. */
  downAt = []
  /** Addresses of other hosts, which go with the answer to each login. */
  alternates = []
  /** Does not answer pings. */
  silent = false
  /** Returns what differs from the usual answer to login n, counted from 1; undefined for nothing, null for no answer. */
  enter = () => undefined

  links = []
  at = [] // the time of each attempt
  logins = [] // { token, lastReceived }
  heard = []
  pings = 0

  joined = false
  received = 0
  last = 0
  kept = []

  constructor(lib, clock) {
    this.lib = lib
    this.clock = clock
    const host = this
    this.WebSocket = class extends Link {
      constructor(url) {
        super(host, url)
      }
    }
  }

  get link() {
    return this.links.at(-1)
  }

  receive(link, unit) {
    const { decodeUnit, packet, Op, Command } = this.lib
    const p = decodeUnit(unit)
    if (p.command === Command.login) return this.onLogin(link, p)
    if (link !== this.link) return
    if (p.opCode === Op.ping) {
      this.pings++
      if (!this.silent) link.deliver(packet({ opCode: Op.pingResult, sender: -1 }))
      return
    }
    this.kept = this.kept.filter(k => k.relSeq > p.ack)
    if (p.relSeq !== 0) {
      if (p.relSeq <= this.received) return
      if (p.relSeq !== this.received + 1) throw new Error(`packet ${p.relSeq} after ${this.received}`)
      this.received = p.relSeq
    }
    if (p.opCode !== 0) this.heard.push(new TextDecoder().decode(p.payload))
  }

  onLogin(link, p) {
    const { Reader, decodeText } = this.lib
    const login = { token: '', lastReceived: 0 }
    for (const r = new Reader(p.inner); r.next();) {
      if (r.number === 1002) login.token = decodeText(r.bytes)
      if (r.number === 1003) login.lastReceived = r.uint
    }
    this.logins.push(login)
    const token = `token-${this.logins.length}`
    const special = this.enter(this.logins.length, link)
    if (special === null) return
    const answer = { success: true, token, caps: this.caps, lastReceived: 0, outcome: 0, windowMs: this.windowMs, base: 0, retryAfterMs: 0, ...special }
    if (answer.success && this.joined && special === undefined && this.caps !== 0) {
      this.kept = this.kept.filter(k => k.relSeq > login.lastReceived)
      Object.assign(answer, { outcome: 1, lastReceived: this.received, base: login.lastReceived })
    }
    if (answer.success) this.joined = true
    this.answer(link, answer)
    if (answer.success) for (const kept of this.kept) link.deliver(kept)
  }

  /** Answers a login. */
  answer(link, a) {
    const { Writer, packet, Op, Command } = this.lib
    const w = new Writer()
    w.bool(1, a.success)
    w.text(2, a.token ?? '')
    w.int32(3, a.success ? 7 : 0)
    w.uint(1001, a.caps)
    w.uint(1002, a.lastReceived ?? 0)
    w.uint(1003, a.outcome ?? 0)
    w.uint(1004, a.windowMs ?? 0)
    w.uint(1005, a.base ?? 0)
    w.uint(1006, a.retryAfterMs ?? 0)
    w.text(1008, a.endpoints ?? '')
    for (const one of this.alternates) w.text(1009, one)
    w.uint(1010, a.over ?? 0)
    link.deliver(packet({ opCode: Op.loginResponse, sender: -1, reliable: true, command: Command.loginResult, inner: w.written }))
  }

  /** Sends one reliable message to the player, with an ack of all that has come. */
  say(text) {
    const { packet, encodeText } = this.lib
    const numbers = this.caps !== 0 ? { relSeq: ++this.last, ack: this.received } : {}
    const p = packet({ opCode: 9, sender: -1, targetPlayer: 7, reliable: true, payload: encodeText(text), ...numbers })
    if (this.caps !== 0) this.kept.push(p)
    if (this.link.readyState === 1) this.link.deliver(p)
  }
}
