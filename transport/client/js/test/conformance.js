// What a client promises, tried against a real host: the same list for Node.js and for browsers. A test in Go
// (conformance_test.go) starts the hosts and a proxy that cuts connections, and is asked for seats, cuts and the state of the host.

import { check, fails, runList, same } from './list.js'

/** Bounds a step; a longer one counts as failed. */
const patience = 30_000

export function run(lib, control, names, options) {
  return runList(tests, names, () => new Bench(lib, control, options))
}

const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

async function until(what, holds) {
  for (const late = Date.now() + patience; !await holds(); await pause(5)) if (Date.now() > late) throw new Error(`${what}: not within ${patience} ms`)
}

const number = n => new Uint8Array(new Uint32Array([n]).buffer)
const numberOf = payload => new DataView(payload.buffer, payload.byteOffset).getUint32(0, true)

class Bench {
  constructor(lib, control, options) {
    this.lib = lib
    this.control = control
    this.options = options
    this.clients = []
  }

  async ask(what, question = {}) {
    const answer = await fetch(`${this.control}/${what}`, { method: 'POST', body: JSON.stringify(question) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${what}: ${text}`)
    return JSON.parse(text)
  }

  /** Logs in, and records the events. */
  async enter(seat, options = {}) {
    const log = []
    const on = {}
    for (const name of ['message', 'membership', 'detached', 'reconnected', 'gap', 'end']) {
      on[name] = value => {
        log.push({ name, value })
        options.on?.[name]?.(value)
      }
    }
    const c = await this.lib.connect({ url: seat.url, playerSessionId: seat.playerSessionId, ...this.options, ...options, on })
    this.clients.push(c)
    c.log = log
    c.next = async name => {
      await until(`event ${name} (${c.end ?? 'open'})`, () => log.some(e => e.name === name))
      return log.splice(log.findIndex(e => e.name === name), 1)[0].value
    }
    return c
  }

  async join(question, options) {
    const seat = await this.ask('seat', question)
    const c = await this.enter(seat, options)
    return [c, seat]
  }

  cleanUp() {
    for (const c of this.clients) c.abort()
  }
}

/** Waits until a player session has ended with a leave, which is sooner than a seat that is held. */
async function hasLeft(t, seat) {
  await until('a leave', async () => (await t.ask('status', seat)).status === 'COMPLETED')
}

/** Sends numbered messages to the client itself, by way of the host, while `disturb` runs; each must come exactly once, in order. */
async function numbered(t, c, count, disturb) {
  let next = 0
  let wrong = ''
  const off = c.on('message', m => {
    if (m.opCode !== 3) return
    if (numberOf(m.payload) !== next && wrong === '') wrong = `message ${numberOf(m.payload)} comes as number ${next}`
    next++
  })
  for (let n = 0; n < count; n++) {
    c.send({ opCode: 3, targetPlayer: c.peerId, payload: number(n) })
    await disturb(n)
  }
  await until(`message ${count}`, () => next >= count || wrong !== '' || c.end !== undefined)
  off()
  check(wrong === '' && next === count, `${wrong}; ${next} of ${count}; ${c.end ?? ''} ${JSON.stringify(c.stats())}`)
}

const tests = {
  /** Messages to oneself, to another player and to all; the payload is text or bytes; the sender is true. */
  async talk(t) {
    const [a, seat] = await t.join({ game: 'talk' })
    const [b] = await t.join({ game: 'talk' })
    check(a.peerId !== b.peerId && a.attached, `peers ${a.peerId}, ${b.peerId}`)
    a.send({ opCode: 1, targetPlayer: b.peerId, payload: 'hé' })
    a.send({ opCode: 2, targetGroup: t.lib.ALL_PLAYERS, payload: new Uint8Array([0, 255]) })
    const one = await b.next('message')
    same([one.sender, one.opCode, one.targetPlayer, one.targetGroup, one.text], [a.peerId, 1, b.peerId, 0, 'hé'], 'to one')
    const all = await b.next('message')
    same([all.sender, all.opCode, all.targetGroup, [...all.payload]], [a.peerId, 2, t.lib.ALL_PLAYERS, [0, 255]], 'to all')
    same((await a.next('message')).opCode, 2, 'the echo')
    for (const m of [{ opCode: 1 }, { opCode: 1.5, targetPlayer: 1 }, { opCode: -13, targetPlayer: 1 }, { opCode: 1, targetPlayer: -2 },
      { opCode: 1, targetPlayer: 1, payload: new Uint8Array(4097) }, { opCode: 1, targetPlayer: 2 ** 31 }]) {
      await fails((async () => a.send(m))(), RangeError, JSON.stringify(m))
    }
    a.send({ opCode: 4, targetPlayer: b.peerId, payload: new Uint8Array(4096) })
    same((await b.next('message')).payload.length, 4096, 'the largest payload')
    check(seat.playerSessionId.startsWith('psess-'), seat.playerSessionId)
  },

  async groups(t) {
    const [a] = await t.join({ game: 'groups' })
    const [b] = await t.join({ game: 'groups' })
    a.joinGroup(7)
    same((await a.next('membership')).players, [a.peerId], 'alone')
    b.joinGroup(7)
    const both = [a.peerId, b.peerId].sort()
    same((await a.next('membership')).players.sort(), both, 'both, by a')
    same((await b.next('membership')).players.sort(), both, 'both, by b')
    a.send({ opCode: 5, targetGroup: 7, payload: 'x' })
    same((await b.next('message')).targetGroup, 7, 'group')
    b.leaveGroup(7)
    same((await a.next('membership')).players, [a.peerId], 'left')
    b.requestMembership(t.lib.ALL_PLAYERS)
    const all = await b.next('membership')
    same([all.group, all.players.sort()], [-1, both], 'all')
    await fails((async () => a.joinGroup(-1))(), RangeError, 'the group of all')
  },

  /** A close from a handler of `reconnected` is a leave. */
  async closeWhenReconnected(t) {
    const [a, seat] = await t.join({})
    a.on('reconnected', () => void a.close())
    a.networkChanged()
    await a.done
    await hasLeft(t, seat)
  },

  /** A close during a move is a leave, however far the move is. */
  async closeWhileMoving(t) {
    const { url } = await t.ask('proxied')
    const seats = []
    for (let n = 0; n < 40; n++) {
      const [a, seat] = await t.join({})
      a.move(url).catch(() => undefined)
      await pause(n % 20 / 2)
      await a.close()
      seats.push(seat)
    }
    for (const seat of seats) await hasLeft(t, seat)
  },

  /** What is sent before a close arrives, and a close is a leave. */
  async closeIsALeave(t) {
    const [a] = await t.join({ game: 'leave' })
    const [b, seat] = await t.join({ game: 'leave' })
    for (let n = 0; n < 200; n++) b.send({ opCode: 6, targetPlayer: a.peerId, payload: number(n) })
    const end = await b.close()
    check(end.local && b.end === end && end.retry === 'never' && !b.attached, `end ${end}`)
    await fails((async () => b.send({ opCode: 1, targetPlayer: 1 }))(), t.lib.ClosedError, 'a message after the end')
    for (let n = 0; n < 200; n++) same(numberOf((await a.next('message')).payload), n, 'message')
    await until('COMPLETED', async () => (await t.ask('status', seat)).status === 'COMPLETED')
    check(await b.close() === end && await b.done === end, 'another close')
    same(b.log.map(e => e.name), ['end'], 'events')
  },

  /** An abort is a loss: the seat is held, and whoever logs in with it is the same player. */
  async abortIsALoss(t) {
    const [a, seat] = await t.join({})
    const peer = a.peerId
    a.abort()
    check((await a.done).local, 'end')
    await pause(100)
    same((await t.ask('status', seat)).status, 'ACTIVE', 'status')
    const b = await t.enter(seat)
    same(b.peerId, peer, 'peer')
    await numbered(t, b, 20, () => undefined)
  },

  /** A login from another device ends the first client, and gets what that has not acknowledged. */
  async takenOver(t) {
    const [a, seat] = await t.join({})
    await numbered(t, a, 20, () => undefined)
    const b = await t.enter(seat)
    const end = await a.done
    same([end.code, end.retry, end.local], [4001, 'never', false], `end ${end}`)
    b.send({ opCode: 9, targetPlayer: b.peerId, payload: 'mine' })
    await until('own message', () => b.log.some(e => e.name === 'message' && e.value.text === 'mine'))
  },

  async refused(t) {
    const seat = await t.ask('seat', {})
    const no = await fails(t.enter({ ...seat, playerSessionId: 'psess-00000000-0000-0000-0000-000000000000' }), t.lib.RefusedError, 'unknown')
    same([no.retryAfterMs, no.reason], [0, ''], 'unknown id')
    const [a, old] = await t.join({ host: 'strict' })
    await a.close()
    const over = await fails(t.enter(old), t.lib.RefusedError, 'used')
    same(over.retryAfterMs, 0, 'used id')
  },

  /** A host with many logins asks to come later, and is obeyed: this one lets two players a second in. */
  async busyHost(t) {
    const seats = []
    for (let n = 0; n < 6; n++) seats.push(await t.ask('seat', { host: 'busy' }))
    const began = performance.now()
    const entering = seats.slice(0, 5).map(seat => t.enter(seat))
    await pause(100)
    const no = await fails(t.enter(seats[5], { connectTimeoutMs: 300 }), t.lib.RefusedError, 'later than the time of connect')
    check(no.retryAfterMs >= 300 && no.retryAfterMs <= 2500, `again after ${no.retryAfterMs} ms`)
    const all = await Promise.all(entering)
    const took = performance.now() - began
    check(took > 1500, `five logins in ${took} ms`)
    const asked = all.filter(c => c.stats().sent > 1).length
    check(asked > 0, 'nobody asked again')
    return { askedAgain: asked }
  },

  /** connect gives up after its time, and when its signal says so. */
  async connectGivesUp(t) {
    const seat = await t.ask('seat', {})
    const { silent } = await t.ask('silent')
    await fails(t.enter({ ...seat, url: silent }, { connectTimeoutMs: 200 }), t.lib.TimeoutError, 'a silent host')
    const stop = new AbortController()
    setTimeout(() => stop.abort(new RangeError('enough')), 100)
    await fails(t.enter({ ...seat, url: silent }, { signal: stop.signal }), RangeError, 'an aborted connect')
    await fails(t.enter(seat, { signal: AbortSignal.abort(new RangeError('before')) }), RangeError, 'a connect after the abort')
    await fails(t.enter({ ...seat, url: 'ws://127.0.0.1:9' }), t.lib.EndedError, 'nobody there')
    for (const bad of [{ url: 'http://127.0.0.1:9' }, { playerSessionId: '' }, { payload: 5 }]) await fails(t.enter({ ...seat, ...bad }, bad), TypeError, JSON.stringify(bad))
  },

  /** The program drops its connection again and again, sometimes for a while. */
  async resumes(t) {
    const [c] = await t.join({})
    const peer = c.peerId
    await numbered(t, c, 1000, async n => {
      if (n % 100 === 99) c.outage(n % 3 * 20)
      if (n % 10 === 0) await pause(1)
    })
    const s = c.stats()
    check(s.reconnects > 0 && s.lost === 0 && s.gaps === 0 && c.peerId === peer, JSON.stringify(s))
    same(c.log.filter(e => e.name === 'reconnected').length, s.reconnects, 'events')
    const early = c.log.find(e => e.name === 'reconnected').value
    check(early.peerId === peer && early.attempts > 0 && early.lost === 0, JSON.stringify(early))
    return { reconnects: s.reconnects, replayed: s.replayed }
  },

  /** Two players, one of them the Go SDK's, send numbered messages to each other, while a proxy cuts this one off again and again. */
  async stream(t) {
    const count = t.options.messages
    const [c, seat] = await t.join({ game: 'stream' }, { url: undefined, ...await t.ask('proxied') })
    let next = 0
    let wrong = ''
    c.on('message', m => {
      if (numberOf(m.payload) !== next && wrong === '') wrong = `message ${numberOf(m.payload)} comes as number ${next}`
      next++
    })
    const partner = await t.ask('partner', { game: 'stream', peer: c.peerId, count }) // it sends from here on
    let refusals = 0
    for (let n = 0; n < count; n++) {
      for (;;) {
        try {
          c.send({ opCode: 82, targetPlayer: partner.peer, payload: number(n) })
          break
        } catch (error) {
          if (!(error instanceof t.lib.BufferFullError)) throw error
          refusals++
          await c.room()
        }
      }
      if (n % 5 === 0) await pause(1) // or it would be over before there are many cuts
    }
    const theirs = await t.ask('partnerEnds')
    await until(`message ${count} (${next}, ${wrong})`, () => next >= count || wrong !== '' || c.end !== undefined)
    const s = c.stats()
    check(wrong === '' && next === count && theirs.received === count && s.gaps === 0, `${wrong}; ${next} of ${count}; they ${JSON.stringify(theirs)}; ${c.end ?? ''} ${JSON.stringify(s)}`)
    check(s.reconnects >= t.options.cutsMin, `only ${s.reconnects} reconnects`)
    await c.close()
    return { messages: count, reconnects: s.reconnects, replayed: s.replayed, duplicatesDropped: s.duplicates, bufferFull: refusals, seat: seat.playerSessionId.slice(0, 14) }
  },

  /** A half-open connection is found, although nothing says that it is broken. */
  async silence(t) {
    const [c] = await t.join({}, { silenceMaxMs: 600, ...await t.ask('proxied') })
    await pause(1500) // a quiet host that answers is not a silent one
    same(c.stats().reconnects, 0, `reconnects (${c.log.map(e => `${e.name} ${e.value}`)})`)
    await t.ask('freeze', { frozen: true })
    const end = await c.next('detached')
    check(end.error instanceof t.lib.SilentError, `${end}`)
    await t.ask('freeze', { frozen: false })
    await c.next('reconnected')
    await numbered(t, c, 20, () => undefined)
  },

  /** A player changes the address of its host again and again while messages flow. */
  async moves(t) {
    const [c, seat] = await t.join({})
    const { url: proxied } = await t.ask('proxied')
    const targets = [proxied, seat.url, seat.wss, seat.wss, proxied, seat.url]
    await numbered(t, c, 300, async n => {
      if (n % 50 === 49) await c.move(targets[(n - 49) / 50])
    })
    const s = c.stats()
    check(s.reconnects === 0 && s.lost === 0, JSON.stringify(s))
    const { silent } = await t.ask('silent')
    const stop = new AbortController()
    setTimeout(() => stop.abort(new RangeError('enough')), 100)
    await fails(c.move(silent, { signal: stop.signal }), RangeError, 'a move to nobody')
    await numbered(t, c, 20, () => undefined)
    c.outage(200)
    await fails(c.move(proxied), t.lib.DetachedError, 'a move while away')
    same(c.log.map(e => e.name).filter(n => n === 'reconnected' || n === 'end'), [], 'events')
  },

  /** A player that returns after the window is refused, and the client ends. */
  async aReturnAfterTheWindow(t) {
    const [c] = await t.join({ host: 'short' })
    c.outage(2000)
    const end = await c.done
    check(end.error instanceof t.lib.GaveUpError && end.error.cause instanceof t.lib.RefusedError && end.retry === 'never', `${end} ${end.error?.cause}`)
    await fails(c.room(), t.lib.ClosedError, 'room')
  },

  /** Without a window no player comes back, and messages have no numbers. */
  async strictHost(t) {
    const [c] = await t.join({ host: 'strict' })
    await numbered(t, c, 20, () => undefined)
    c.networkChanged()
    const end = await c.done
    check(end.error?.cause instanceof t.lib.RefusedError, `${end}`)
  },

  async hostDrains(t) {
    const [c] = await t.join({ host: 'drained' }, { reconnect: { giveUpAfterMs: 300 } })
    await t.ask('drain')
    const end = await c.next('detached')
    same([end.code, end.retry], [1001, 'later'], `${end}`)
    check((await c.done).error instanceof t.lib.GaveUpError, `${c.end}`)
  },

  /** While it is away, a client keeps reliable messages within its bounds, and drops fast ones. */
  async sendWhileAway(t) {
    const [c] = await t.join({}, { sendBufferMessages: 3 })
    await numbered(t, c, 2, () => undefined)
    await until('acknowledged', () => c.room().then(() => true))
    await pause(300)
    c.outage(500)
    for (const text of ['a', 'b', 'c']) c.send({ opCode: 8, targetPlayer: c.peerId, payload: text })
    await fails((async () => c.send({ opCode: 8, targetPlayer: c.peerId, payload: 'd' }))(), t.lib.BufferFullError, 'the fourth')
    c.send({ opCode: 8, targetPlayer: c.peerId, payload: 'fast', intent: 'fast' })
    await fails(c.room({ signal: AbortSignal.timeout(50) }), Error, 'room in time')
    await c.room()
    c.send({ opCode: 8, targetPlayer: c.peerId, payload: 'e' })
    const heard = []
    while (heard.length < 4) {
      const m = await c.next('message')
      if (m.opCode === 8) heard.push(m.text)
    }
    same(heard, ['a', 'b', 'c', 'e'], 'messages')
    await pause(300) // acknowledged, so that there is room for a fast one
    c.send({ opCode: 8, targetPlayer: c.peerId, payload: 'fast', intent: 'fast' })
    same((await c.next('message')).text, 'fast', 'a fast message')
    same(c.stats().unsent, 1, 'unsent')
  },

  /** A host that cannot keep everything says so. */
  async gap(t) {
    const [a] = await t.join({ host: 'small', game: 'gap' })
    const [b] = await t.join({ host: 'small', game: 'gap' })
    b.outage(1500)
    const room = new Uint8Array(1000)
    for (let n = 0; n < 300; n++) {
      room.set(number(n))
      a.send({ opCode: 10, targetPlayer: b.peerId, payload: room })
      if (n % 10 === 0) await pause(5)
    }
    const how = await b.next('reconnected')
    const { lost } = await b.next('gap')
    check(lost > 0 && how.lost === lost && b.stats().lost === lost, `lost ${lost}, ${JSON.stringify(how)}`)
    await until('the rest', () => b.log.filter(e => e.name === 'message').length === 300 - lost)
    return { lost }
  },

  /** Handlers that are added after connect miss nothing, also what the host sends right behind the login. */
  async handlersAfterConnect(t) {
    const [a] = await t.join({ game: 'late' })
    const seat = await t.ask('seat', { game: 'late' })
    const b = await t.lib.connect({ ...t.options, url: seat.url, playerSessionId: seat.playerSessionId })
    t.clients.push(b)
    const peer = b.peerId
    b.abort()
    await pause(50)
    for (let n = 0; n < 100; n++) a.send({ opCode: 11, targetPlayer: peer, payload: number(n) })
    await pause(200)
    const again = await t.lib.connect({ ...t.options, url: seat.url, playerSessionId: seat.playerSessionId })
    t.clients.push(again)
    const heard = []
    again.on('message', m => heard.push(numberOf(m.payload)))
    await until('all', () => heard.length === 100)
    same(heard, [...heard.keys()], 'messages')
    await fails((async () => again.on('mesage', () => undefined))(), TypeError, 'an event that does not exist')
  },

  /** A host of a cluster sends a player to the one that runs the game session: at the first login, and to move. */
  async cluster(t) {
    const seat = await t.ask('elsewhere')
    const c = await t.enter(seat)
    await numbered(t, c, 50, () => c.outage(0))
    await numbered(t, c, 50, () => c.move(seat.wss)) // its certificate is that of the other host, too
    await numbered(t, c, 50, () => c.outage(0))
    c.abort()
    const { length } = await fails(t.enter({ ...seat, playerSessionId: 'psess-1-abcdefghijklmnop' }), t.lib.RefusedError, 'unknown').then(e => e.reason)
    check(length > 0, 'a refusal without a reason')
  },
}
