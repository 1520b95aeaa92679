import { Alive } from './alive.js'
import { Attempt, type AttemptHooks } from './attempt.js'
import { Comeback, type Absence } from './comeback.js'
import type { Connection } from './connection.js'
import { alternatesOf, answered, parseEndpoints, redirectedMin, redirectsMax, unreachedMax, urlAt, type Endpoints } from './elsewhere.js'
import { BufferFullError, ClosedError, DetachedError, DroppedError, End, EndedError, RefusedError, SilentError } from './errors.js'
import { Emitter, Message, type Handlers } from './events.js'
import { Numbers } from './numbers.js'
import { checkURL, settingsOf, type Options, type Settings } from './options.js'
import { groupPacket, packetOf, type OutgoingMessage } from './outgoing.js'
import { afterLoss, attemptFirst, attemptMax, delayAfter } from './policy.js'
import { Close, Command, Op, overText, PAYLOAD_MAX, refusal, REFUSED_GAME_ENDED, SERVER } from './protocol.js'
import { noStats, type Stats } from './stats.js'
import { now, Sleep, unless, Waiters, type Timer } from './waiting.js'
import { decodeLoginResult, decodeMembership, decodeUnit, encodeLogin, encodePacket, packet, unitOf, type LoginResult, type Packet } from './wire.js'

/** How to end a wait: the promise is rejected with the signal's reason. */
export interface Waiting {
  signal?: AbortSignal
}

/** How long an ack waits for a packet that carries it (reliability.md 2.4). */
const ackDelay = 200
/** How long `close` waits for what is queued, and then for the host's close frame. */
const closeTimeout = 1000
/** How often a congested WebSocket is looked at; it does not tell when it has room again. */
const congestedPoll = 10
/** How long an abandoned login may take to reach the host. */
const abandonedLoginMax = 10_000
/** How long the host may take to answer after the network has changed. */
const probePatience = 2500
/** More than the largest message without its payload. */
const overheadMax = 64

/**
 * Opens a connection and logs in. If the host asks to try later, it does so within `connectTimeoutMs`.
 * Rejects with RefusedError, EndedError, TimeoutError, or the signal's reason; with TypeError or RangeError for options that it does not
 * take; and with what the platform says about an address that it does not open. Then nothing is left.
 * Add handlers at once, before anything else is awaited, or give them as `on`: the first events follow.
 */
export async function connect(options: Options): Promise<Client> {
  options.signal?.throwIfAborted()
  const client = new Client(settingsOf(options), options.on ?? {})
  await client.begin(options.signal)
  return client
}

/**
 * A player in a game session. It outlives its connections: after a loss it logs in again by itself, and both sides get exactly
 * the reliable messages that they have missed. Made by `connect`.
 */
export class Client {
  private readonly emitter = new Emitter()
  private readonly numbers: Numbers
  private readonly alive: Alive
  private readonly comeback: Comeback
  private readonly sleep = new Sleep()
  private readonly changed = new Waiters()
  private counts = noStats()
  /** The host that is believed to run the game session. */
  private url: string
  /** Other hosts, which know what became of it. */
  private alternates: Endpoints[] = []
  private peer = 0
  private window = 0
  private current: Connection | undefined
  private readonly attempts = new Set<Attempt>()
  private away: Absence | undefined
  private moves: Promise<unknown> = Promise.resolve()
  private moving = false
  private closing = false
  private over: End | undefined
  private abandonedAt = -Infinity
  private ackTimer: Timer | undefined
  private pumpTimer: Timer | undefined
  private moveTimer: Timer | undefined
  /** What came in before the program could add handlers; undefined later. */
  private held: (() => void)[] | undefined = []
  private finished!: (end: End) => void
  /** Resolves when the client has ended, with how. */
  readonly done: Promise<End>

  /** @internal */
  constructor(private readonly o: Settings, on: Partial<Handlers>) {
    this.url = o.url
    this.numbers = new Numbers(o.sendBufferBytes, o.sendBufferMessages)
    this.comeback = new Comeback(o, this.numbers)
    this.alive = new Alive(o.silenceMaxMs, () => this.ping(), () => this.current?.drop(new SilentError(`the host is silent for ${o.silenceMaxMs} ms`)))
    this.done = new Promise(resolve => { this.finished = resolve })
    for (const [name, handler] of Object.entries(on)) if (handler !== undefined) this.emitter.add(name as keyof Handlers, handler as never)
  }

  /** The player's number in the game session. */
  get peerId(): number {
    return this.peer
  }

  /** Whether there is a connection that is not known to be lost. */
  get attached(): boolean {
    return this.current !== undefined
  }

  /** How the client ended; undefined before. */
  get end(): End | undefined {
    return this.over
  }

  /** Adds a handler and returns a function that removes it. */
  on<K extends keyof Handlers>(name: K, handler: Handlers[K]): () => void {
    this.emitter.add(name, handler)
    return () => this.emitter.remove(name, handler)
  }

  /** Removes a handler. */
  off<K extends keyof Handlers>(name: K, handler: Handlers[K]): void {
    this.emitter.remove(name, handler)
  }

  /**
   * Sends one message. A reliable one is kept until the host has it, also while the connection is lost: it arrives exactly once,
   * or the client ends. Throws BufferFullError if there is no room for it (see `room`), ClosedError after the end, and TypeError
   * or RangeError for a message that the host would drop. A fast message never fails for lack of a connection or of room.
   */
  send(m: OutgoingMessage): void {
    this.put(packetOf(m), m.intent === 'fast')
  }

  /** Asks to join a group, a positive number. A `membership` event brings the result. */
  joinGroup(group: number): void {
    this.put(groupPacket('join', group), false)
  }

  /** Asks to leave a group. The members that remain get a `membership` event. */
  leaveGroup(group: number): void {
    this.put(groupPacket('leave', group), false)
  }

  /** Asks for the members of a group, which may be ALL_PLAYERS. The answer is a `membership` event. */
  requestMembership(group: number): void {
    this.put(groupPacket('request', group), false)
  }

  /** Resolves when the send buffer has room for a message of any size. Rejects with ClosedError after the end, or with the signal's reason. */
  async room({ signal }: Waiting = {}): Promise<void> {
    for (;;) {
      signal?.throwIfAborted()
      if (this.closing || this.over) throw new ClosedError()
      if (this.numbers.room(PAYLOAD_MAX + overheadMax)) return
      await this.changed.wait(signal)
    }
  }

  /**
   * Opens a connection to another address of the same host, or of its cluster, and drops the current one when the player is logged in there. No reliable
   * message is lost or comes twice, if the host numbers messages. Later reconnects use the new address. After an error everything is as
   * before, except that the connection may have been lost in the meantime: then the move may take 3 s more.
   */
  async move(url: string, { signal }: Waiting = {}): Promise<void> {
    const to = checkURL(url)
    const before = this.moves
    const move = (async () => {
      await unless(before, signal)
      if (this.closing || this.over) throw new ClosedError()
      if (this.current === undefined) throw new DetachedError()
      this.moving = true
      try {
        await this.attempt(to, this.o.connectTimeoutMs, signal)
      } finally {
        this.moving = false
        clearTimeout(this.moveTimer)
        if (this.away !== undefined) this.detach(this.away)
      }
    })()
    this.moves = Promise.allSettled([before, move])
    await move
  }

  /**
   * Drops the connection and opens another one at once: for programs that know of a new network. If the host has asked to come later,
   * the client still waits.
   */
  networkChanged(): void {
    this.outage(0)
  }

  /** Simulates a network outage, for tests: the connection is dropped, and no attempt is made for a time. */
  outage(ms: number): void {
    this.comeback.notBefore = now() + ms
    for (const attempt of [...this.attempts]) attempt.fail(new DroppedError())
    if (this.current !== undefined) this.current.drop()
    else this.comeback.nudge()
  }

  /** Counts since `connect` or the last `resetStats`. */
  stats(): Stats {
    return { ...this.counts }
  }

  /** Returns the counts and sets them to zero. */
  resetStats(): Stats {
    const { counts } = this
    this.counts = noStats()
    return counts
  }

  /**
   * Sends what is queued, leaves the game session, and resolves when the client has ended, after about two seconds at most.
   * An aborted signal ends the waiting: then the rest is dropped, and it is no error. While the connection is lost, the host cannot be told, and holds the seat,
   * unless it has accepted a new login meanwhile.
   */
  async close({ signal }: Waiting = {}): Promise<End> {
    if (!this.depart(true)) return this.done
    const connection = this.current
    const dropped = (): void => connection?.drop()
    signal?.addEventListener('abort', dropped, { once: true })
    if (signal?.aborted) dropped()
    let late = false
    const timer = setTimeout(() => {
      late = true
      this.changed.wake()
    }, closeTimeout)
    while (this.current === connection && connection !== undefined && !this.numbers.idle && !late) await this.changed.wait()
    clearTimeout(timer)
    if (this.current === connection && connection !== undefined) {
      connection.leave()
      const end = setTimeout(dropped, closeTimeout)
      await this.done
      clearTimeout(end)
    } else this.finish(new End(0, '', true))
    signal?.removeEventListener('abort', dropped)
    return this.done
  }

  /** Drops the connection and ends the client. To the host this is a loss: the player may come back. */
  abort(): void {
    if (this.over) return
    this.depart(false)
    if (this.current !== undefined) this.current.drop()
    else this.finish(new End(0, '', true))
  }

  // --- the life of a client ---

  /** @internal */
  async begin(signal: AbortSignal | undefined): Promise<void> {
    const until = now() + this.o.connectTimeoutMs
    try {
      for (let n = 0; ; n++) {
        try {
          await this.attempt(this.url, until - now(), signal)
          break
        } catch (error) {
          const asked = error instanceof RefusedError ? error.retryAfterMs : 0
          const wait = asked + delayAfter(this.o.reconnect, n, Infinity, 0)
          if (asked === 0 || now() + wait >= until) throw error
          const woken = (): void => this.sleep.wake()
          signal?.addEventListener('abort', woken, { once: true })
          await this.sleep.for(wait)
          signal?.removeEventListener('abort', woken)
          signal?.throwIfAborted()
        }
      }
    } catch (error) {
      this.closing = true
      this.over = new End(0, '', true)
      throw error
    }
    this.watch('add')
    setTimeout(() => this.letGo(), 0)
  }

  /** Processes what came in before the program could add handlers. */
  private letGo(): void {
    const held = this.held ?? []
    this.held = undefined
    for (const step of held) step()
  }

  private depart(leave: boolean): boolean {
    if (this.closing || this.over) return false
    this.closing = true
    for (const attempt of [...this.attempts]) attempt.fail(new ClosedError(), leave)
    this.comeback.stop()
    this.changed.wake()
    return true
  }

  /** Logs in, and follows redirects to other hosts. When it resolves, the new connection is or was the current one, and its host is that of the game session. */
  private async attempt(url: string, timeout: number, signal?: AbortSignal): Promise<void> {
    const until = now() + timeout
    for (let n = 0; ; n++) {
      try {
        await this.attemptAt(url, until - now(), signal)
        this.url = url
        return
      } catch (error) {
        if (!(error instanceof RefusedError) || error.moved === undefined || n === redirectsMax) throw error
        url = urlAt(error.moved, url)
      }
    }
  }

  /** Attempt n to come back. If the player's host was out of reach before, other hosts are asked first: they know whether it is lost. */
  private async tryAgain(away: Absence, n: number, until: number): Promise<void> {
    const bound = (n: number): number => Math.min(attemptMax(this.o.connectTimeoutMs, n), until - now())
    const said = away.unreached < unreachedMax ? undefined : await this.askOthers(away, () => bound(0))
    if (said === 'attached') return
    away.attempts++
    try {
      await this.attempt(said?.moved === undefined ? this.url : urlAt(said.moved, this.url), bound(said === undefined ? n : 0))
    } catch (error) {
      away.unreached = answered(error) ? 0 : away.unreached + 1
      throw said !== undefined && said.moved === undefined && !answered(error) ? said : error
    }
  }

  /** Asks other hosts, one after the other, and returns the refusal of the first one that knows the game session. Throws if it is over. */
  private async askOthers(away: Absence, bound: () => number): Promise<RefusedError | 'attached' | undefined> {
    for (const other of [...this.alternates]) {
      try {
        const url = urlAt(other, this.url)
        away.attempts++
        await this.attemptAt(url, bound())
        this.url = url
        return 'attached'
      } catch (error) {
        if (error instanceof DroppedError) throw error // there is a new network, or none
        if (!(error instanceof RefusedError)) continue
        if (error.over) throw error
        if (error.moved !== undefined || error.retryAfterMs > 0) return error
      }
    }
    return undefined
  }

  /** Opens one connection and logs in over it. */
  private async attemptAt(url: string, timeout: number, signal?: AbortSignal): Promise<void> {
    if (this.closing || this.over) throw new ClosedError()
    let said = 0
    const hooks: AttemptHooks = {
      ask: connection => {
        const login = this.numbers.login(this.o.playerSessionId)
        said = login.lastReceived
        this.write(connection, encodeLogin(login, this.o.payload))
      },
      answer: (attempt, connection, unit) => this.onLoginAnswer(attempt, connection, said, unit),
      unit: (connection, unit) => this.later(() => this.onUnit(connection, unit)),
      ended: (connection, end) => this.later(() => this.lost(connection, end)),
    }
    const attempt = new Attempt(this.o.WebSocket, url, timeout, signal, hooks)
    this.attempts.add(attempt)
    try {
      await attempt.done
    } catch (error) {
      if (attempt.asked) this.abandonedAt = now()
      throw error
    } finally {
      this.attempts.delete(attempt)
    }
  }

  /** Runs a step, or keeps it until the program has had time to add handlers. */
  private later(step: () => void): void {
    if (this.held !== undefined) this.held.push(step)
    else step()
  }

  private onLoginAnswer(attempt: Attempt, connection: Connection, said: number, unit: Uint8Array | undefined): void {
    let result: LoginResult
    let moved: Endpoints | undefined
    try {
      result = decodeLoginResult(this.read(unit))
      if (!result.success && result.caps !== 0 && result.endpoints !== '') moved = parseEndpoints(result.endpoints)
    } catch (error) {
      throw new EndedError(new End(0, '', false, error as Error), `the host does not answer as one: ${(error as Error).message}`)
    }
    if (!result.success) {
      const { caps, outcome, over, retryAfterMs } = result
      if (caps === 0) throw new RefusedError(retryAfterMs, '')
      const wait = moved === undefined ? retryAfterMs : Math.max(retryAfterMs, redirectedMin)
      throw new RefusedError(wait, overText(over) || refusal(outcome), over !== 0 || outcome === REFUSED_GAME_ENDED, moved)
    }
    if (this.closing || this.over || attempt.began < this.comeback.notBefore) throw new DroppedError()
    this.attach(connection, result, said)
  }

  /** Makes a connection the current one, and tells the program. */
  private attach(connection: Connection, r: LoginResult, said: number): void {
    const done = this.numbers.answer(r, said)
    const { current: old, away } = this
    this.away = undefined
    this.current = connection
    this.peer = r.peerId
    this.window = Math.min(r.windowMs, 2 ** 31 - 1)
    this.alternates = alternatesOf(r.alternates)
    old?.discard()
    this.alive.start()
    this.changed.wake()
    this.pump()
    if (away?.told) {
      this.counts.reconnects++
      const how = { attempts: away.attempts, afterMs: now() - away.since, replayed: done.replay, lost: done.gap, peerId: r.peerId }
      this.later(() => this.emit('reconnected', how))
    }
    if (done.gap > 0) {
      this.counts.gaps++
      this.counts.lost += done.gap
      this.later(() => this.emit('gap', { lost: done.gap }))
    }
  }

  /** The current connection has ended. */
  private lost(connection: Connection, end: End): void {
    if (this.current !== connection) return
    this.current = undefined
    this.alive.stop()
    clearTimeout(this.pumpTimer)
    this.pumpTimer = undefined
    this.comeback.lost()
    const ours = this.moving || now() - this.abandonedAt < abandonedLoginMax
    if (ours && end.code === Close.takenOver) end = new End(0, '', false, new DroppedError()) // by a login of our own, or the next one is refused
    this.away = { since: now(), end, attempts: 0, unreached: 0, told: false }
    this.changed.wake()
    if (!this.moving || this.closing) this.detach(this.away)
    else { // the attempt to move is the first one to come back now, and may take no longer
      this.moveTimer = setTimeout(() => {
        for (const attempt of [...this.attempts]) attempt.fail(new DetachedError())
      }, attemptFirst)
    }
  }

  /** Decides whether to reconnect after a loss, and tells the program. */
  private detach(away: Absence): void {
    if (this.over) return
    const { end } = away
    const next = afterLoss(end)
    this.comeback.count()
    const hopeless = this.comeback.hopeless(end)
    if (next.final || hopeless !== undefined || !this.o.reconnects || this.closing) {
      this.finish(hopeless === undefined ? end : new End(end.code, end.reason, false, hopeless))
      return
    }
    away.told = true
    this.emit('detached', end)
    if (this.away !== away || this.over) return
    void this.comeback.run(away, this.window, next, (n, until) => this.tryAgain(away, n, until)).then(gaveUp => {
      if (gaveUp !== undefined) this.finish(new End(end.code, end.reason, false, gaveUp))
    })
  }

  private finish(end: End): void {
    if (this.over) return
    if (this.closing) end = new End(end.code, end.reason, true)
    this.over = end
    for (const attempt of [...this.attempts]) attempt.fail(new ClosedError())
    this.comeback.stop()
    this.alive.stop()
    clearTimeout(this.ackTimer)
    clearTimeout(this.pumpTimer)
    this.watch('remove')
    this.changed.wake()
    this.finished(end)
    this.emitter.emit('end', end)
  }

  // --- packets ---

  private put(p: Packet, fast: boolean): void {
    if (this.closing || this.over) throw new ClosedError()
    p.sender = this.peer
    if (fast && !this.current?.writable || !this.numbers.put(p, fast)) {
      if (!fast) throw new BufferFullError()
      this.counts.unsent++
      return
    }
    this.pump()
  }

  /** Writes what is queued, as much as the WebSocket takes. */
  private pump(): void {
    const { current } = this
    while (current !== undefined && this.current === current && !this.numbers.idle) {
      if (!current.writable) {
        this.pumpTimer ??= setTimeout(() => {
          this.pumpTimer = undefined
          this.pump()
        }, congestedPoll)
        return
      }
      const next = this.numbers.next()
      if (next === undefined) break
      if (next.again) this.counts.replayed++
      this.write(current, next.unit)
    }
    this.scheduleAck()
    if (!this.numbers.on || this.closing) this.changed.wake()
  }

  private scheduleAck(): void {
    if (!this.numbers.ackOpen || this.ackTimer !== undefined || this.over) return
    this.ackTimer = setTimeout(() => {
      this.ackTimer = undefined
      this.numbers.ackLate()
      this.pump()
    }, ackDelay)
  }

  private write(connection: Connection, unit: Uint8Array<ArrayBuffer>): void {
    this.counts.sent++
    this.counts.sentBytes += unit.length
    connection.send(unit)
  }

  private read(unit: Uint8Array | undefined): Packet {
    this.counts.received++
    this.counts.receivedBytes += unit?.length ?? 0
    return decodeUnit(unit ?? new Uint8Array(0))
  }

  private onUnit(connection: Connection, unit: Uint8Array | undefined): void {
    if (this.current !== connection) return
    this.alive.heard()
    let p: Packet
    try {
      p = this.read(unit)
    } catch {
      this.counts.malformed++
      return
    }
    let fresh: boolean
    try {
      fresh = this.numbers.take(p.relSeq, p.ack)
    } catch (error) {
      connection.drop(error as Error)
      return
    }
    if (p.ack !== 0) this.changed.wake()
    if (fresh) this.onPacket(p)
    else this.counts.duplicates++
    this.pump()
  }

  private onPacket(p: Packet): void {
    switch (p.opCode) {
      case Op.loginResponse:
      case Op.pingResult:
      case Op.serverAck:
      case Op.verifyIdentityResponse:
        return
      case Op.membershipUpdate:
        this.emit('membership', { ...decodeMembership(p), sender: p.sender })
        return
    }
    const pureAck = this.numbers.on && p.relSeq === 0 && p.opCode === 0 && p.sender === 0
    if (!pureAck) this.emit('message', new Message(p.sender, p.opCode, p.targetPlayer, p.targetGroup, p.payload))
  }

  private emit<K extends keyof Handlers>(name: K, value: Parameters<Handlers[K]>[0]): void {
    if (!this.closing && !this.over) this.emitter.emit(name, value)
  }

  // --- a sign of life ---

  /** A ping has no number, and so, where packets are numbered, must not claim to be reliable. */
  private ping(): void {
    const { current } = this
    if (current === undefined) return
    const p = packet({ opCode: Op.ping, targetPlayer: SERVER, sender: this.peer, reliable: !this.numbers.on, command: Command.ping })
    this.write(current, unitOf(encodePacket(p)))
  }

  /** Looks after the connection: a browser says that there is a network again, or shows the page again. */
  private readonly look = (): void => {
    if (typeof document !== 'undefined' && document.visibilityState === 'hidden') return
    if (this.current === undefined) this.comeback.nudge()
    else this.alive.probe(probePatience)
  }

  private watch(how: 'add' | 'remove'): void {
    if (!this.o.watchNetwork || typeof document === 'undefined' || typeof window === 'undefined') return
    if (how === 'add') {
      window.addEventListener('online', this.look)
      document.addEventListener('visibilitychange', this.look)
    } else {
      window.removeEventListener('online', this.look)
      document.removeEventListener('visibilitychange', this.look)
    }
  }
}
