// When a client comes back, and when not: tried in virtual time, against a host without sockets (fakehost.js). The module that is
// tried exports what the client is made of too (everything in src).

import { Clock, FakeHost } from './fakehost.js'
import { between, check, fails, runList, same } from './list.js'

export function run(lib, names) {
  return runList(tests, names, () => new Bench(lib))
}

const minute = 60_000
const hour = 60 * minute

class Bench {
  clock = new Clock()
  clients = []

  constructor(lib) {
    this.lib = lib
    this.clock.install()
    this.host = new FakeHost(lib, this.clock)
    this.pass = ms => this.clock.pass(ms)
  }

  /** Makes another host, for a case of its own. */
  fresh() {
    this.host = new FakeHost(this.lib, this.clock)
    return this.host
  }

  /** Begins to connect. Whoever waits for it later sees its error. */
  connect(options) {
    const entering = this.lib.connect(this.options(options))
    entering.catch(() => undefined)
    return entering
  }

  options(options) {
    return { url: 'ws://host:1900', playerSessionId: 'psess-1', WebSocket: this.host.WebSocket, ...options }
  }

  /** Logs in. `log` has one word for each event, `passed` clears it. */
  async enter(options = {}) {
    const log = []
    const on = { message: m => log.push(m.text) }
    for (const name of ['detached', 'reconnected', 'gap', 'end']) on[name] = value => log.push(Object.assign(new String(name), { value }))
    const entering = this.connect({ ...options, on })
    await this.pass(0)
    const c = await entering
    await this.pass(0)
    this.clients.push(c)
    c.events = () => log.splice(0).map(String)
    return c
  }

  cleanUp() {
    for (const c of this.clients) c.abort()
    const left = this.clock.timers.size
    this.clock.remove()
    if (left > 0) throw new Error(`${left} timers are left behind`)
  }
}

const refusal = retryAfterMs => ({ success: false, retryAfterMs })

const tests = {
  /** The host's answer to an attempt decides whether there is another one, and when. */
  async hostDecidesAboutTheNextAttempt(t) {
    const { lib } = t
    const cases = {
      refused: { enter: () => refusal(0), logins: 2, end: lib.RefusedError },
      notYet: { enter: n => n < 4 ? refusal(2000) : undefined, logins: 4, least: 2000, most: 4000 },
      long: { enter: n => n < 3 ? refusal(7000) : undefined, logins: 3, least: 7000, most: 9000 },
      tryLater: { enter: (n, link) => n === 2 ? (link.bye(4011), null) : undefined, logins: 3, least: 1000, most: 2000 },
      notResumed: { enter: () => ({ outcome: 0 }), logins: 2, end: lib.NotResumedError },
    }
    for (const [name, k] of Object.entries(cases)) {
      const h = t.fresh()
      h.enter = (n, link) => n === 1 ? undefined : k.enter(n, link)
      const c = await t.enter()
      await t.pass(10_000)
      h.link.cut()
      await t.pass(29_000)
      same(h.logins.length, k.logins, `${name}: logins`)
      if (k.end !== undefined) {
        check(c.end?.error instanceof lib.GaveUpError && c.end.error.cause instanceof k.end, `${name}: ${c.end?.error?.stack}`)
        continue
      }
      check(c.attached, `${name}: ${c.end}`)
      for (let n = 2; n < h.at.length; n++) between(h.at[n] - h.at[n - 1], k.least, k.most, `${name}: wait ${n}`)
      c.abort()
    }
  },

  /** connect tries again when the host asks it to, if that is within its time; the signal ends the wait. */
  async connectAsksAgain(t) {
    const h = t.host
    h.enter = n => n < 3 ? refusal(3000) : undefined
    const began = t.clock.now
    const entering = t.connect()
    await t.pass(10_000)
    t.clients.push(await entering)
    between(h.at[1] - began, 3000, 5000, 'the first wait')
    between(h.at[2] - h.at[1], 3000, 5000, 'the second wait')

    const busy = t.fresh()
    busy.enter = () => refusal(minute)
    const refused = fails(t.connect(), t.lib.RefusedError, 'later than the time of connect')
    await t.pass(0)
    same([(await refused).retryAfterMs, busy.at.length], [minute, 1], 'a refusal')

    busy.enter = () => refusal(5000)
    const stop = new AbortController()
    const stopped = fails(t.connect({ signal: stop.signal }), RangeError, 'a wait that is ended')
    await t.pass(1000)
    stop.abort(new RangeError('enough'))
    await t.pass(0)
    await stopped
    await t.pass(minute)
    same(busy.at.length, 2, 'attempts')
  },

  /** What connect rejects with says what is wrong, and is of a documented class whatever the platform says. */
  async connectErrors(t) {
    const { lib } = t
    const breaks = {
      reset: [link => link.onerror({ error: new Error('read ECONNRESET') }), 'no connection to ws://host:1900/websocket: read ECONNRESET'],
      browser: [link => link.onerror({}), 'no connection to ws://host:1900/websocket: no reason given'],
      cut: [link => link.cut(), 'no connection to ws://host:1900/websocket: the connection broke'],
    }
    for (const [name, [how, text]] of Object.entries(breaks)) {
      const h = t.fresh()
      h.down = true
      const failed = fails(t.connect(), lib.EndedError, name)
      await t.pass(0)
      how(h.link)
      await t.pass(0)
      const error = await failed
      same([error.message, error.end.retry, error.cause instanceof Error], [text, 'resume', true], name)
    }
    const h = t.fresh()
    h.down = true
    const late = fails(t.connect({ connectTimeoutMs: 5000 }), lib.TimeoutError, 'a refusal, and a connection beside it that hangs')
    await t.pass(3000)
    h.links[0].onerror({ error: new Error('connect ECONNREFUSED') })
    await t.pass(3000)
    const { message, cause } = await late
    same([message, cause instanceof lib.EndedError, cause?.end?.error.message],
      ['no answer from ws://host:1900/websocket within 5000 ms; before: connection lost: connect ECONNREFUSED', true, 'connect ECONNREFUSED'], 'its cause')
    const answers = {
      unknown: [() => ({ success: false, caps: 0 }), lib.RefusedError, 'login refused without a reason, as hosts do if they do not know the player session (any more)'],
      full: [() => ({ success: false, outcome: 102 }), lib.RefusedError, 'login refused: the game session is full'],
      other: [(_, link) => (link.deliver(lib.packet({ opCode: 9 })), null), lib.EndedError, 'the host does not answer as one: '],
      lost: [(_, link) => (link.onerror({ error: new Error('read ECONNRESET') }), null), lib.EndedError, 'connection lost: read ECONNRESET'],
    }
    for (const [name, [enter, type, text]] of Object.entries(answers)) {
      t.fresh().enter = enter
      const failed = fails(t.connect(), type, name)
      await t.pass(0)
      check((await failed).message.startsWith(text), `${name}: ${(await failed).message}`)
    }
    for (const url of ['127.0.0.1:1900', 'host:1900', 'http://host:1900', undefined]) {
      same((await fails(t.connect({ url }), TypeError, url)).message, `url must be ws://host:port or wss://host:port, not "${url}"`, 'text')
    }
  },

  /** A login at another host of a cluster is sent to the right one, at once, and later ones go there. */
  async redirects(t) {
    const { lib } = t
    const to = endpoints => (n, link) => new URL(link.url).hostname === 'host' ? { ...refusal(0), endpoints } : undefined
    const cases = {
      ws: ['ws://host:1900', 'ws=owner:1901 wss=owner:1902 kcp=owner:1903', 'ws://owner:1901/websocket'],
      wss: ['wss://host:1900', 'ws=owner:1901 wss=owner:1902', 'wss://owner:1902/websocket'],
      IPv6: ['ws://host:1900', 'new=x ws=[::1]:1901', 'ws://[::1]:1901/websocket'],
    }
    for (const [name, [url, endpoints, owner]] of Object.entries(cases)) {
      const h = t.fresh()
      h.enter = to(endpoints)
      const began = t.clock.now
      const c = await t.enter({ url })
      same([h.links.map(l => l.url), t.clock.now - began], [[`${url}/websocket`, owner], 0], name)
      same(h.links[0].readyState, 3, `${name}: the first connection`)
      h.say('hi')
      await t.pass(10_000)
      h.link.cut()
      await t.pass(1000)
      same([h.link.url, h.links.length, c.events()], [owner, 3, ['hi', 'detached', 'reconnected']], `${name}: later`)
      c.abort()
    }
    const errors = {
      'the host of the game session does not offer wss': 'ws=owner:1901',
      'the host does not answer as one: an address is not host:port': 'wss=owner',
      'the host does not answer as one: no address': 'quic=owner:1901',
      'the host does not answer as one: the addresses are too long': `wss=owner:1901 ${'é'.repeat(512)}`,
    }
    for (const [text, endpoints] of Object.entries(errors)) {
      t.fresh().enter = to(endpoints)
      const failed = fails(t.connect({ url: 'wss://host:1900' }), lib.EndedError, text)
      await t.pass(0)
      same((await failed).message, text, 'error')
    }
  },

  /** Hosts that do not agree about where a player belongs do not keep a client busy. */
  async redirectsInACircle(t) {
    const h = t.host
    h.enter = (n, link) => ({ ...refusal(0), endpoints: link.url.includes('a:1') ? 'ws=b:1' : 'ws=a:1' })
    const failed = fails(t.connect({ url: 'ws://a:1' }), t.lib.RefusedError, 'a circle')
    await t.pass(1900)
    same(h.at.length, 4, 'connections at first')
    await t.pass(15_000)
    same((await failed).retryAfterMs, 2000, 'wait')
    between(h.at.length, 16, 32, 'connections')
    check(h.at.length % 4 === 0 && h.at[4] - h.at[0] >= 2000, `connections at ${h.at}`)
  },

  /** A client that does not reach its host asks other hosts of the cluster. */
  async alternates(t) {
    const { lib } = t
    const over = { ...refusal(0), over: 1 }
    const cases = {
      lost: { b: over, c: over, logins: ['b', 'c'], end: 'the host of the game session was lost' },
      ended: { b: { ...over, outcome: 101, over: 0 }, downAt: ['owner', 'c'], logins: ['b'], end: 'the game session has ended' },
      moved: { b: { ...refusal(0), endpoints: 'ws=new:1' }, downAt: ['owner', 'c'], logins: ['b', 'new'], back: 'ws://new:1/websocket' },
      suspect: { b: refusal(2000), downAt: ['owner', 'c'], up: 15_000, logins: ['b', 'owner'], back: 'ws://owner:1/websocket' },
      unaware: { b: { ...refusal(0), caps: 0 }, downAt: ['owner', 'c'], up: 15_000, logins: ['b', 'owner'], back: 'ws://owner:1/websocket' },
      nobody: { downAt: ['owner', 'b', 'c'], up: 15_000, logins: ['owner'], back: 'ws://owner:1/websocket' },
      here: { b: undefined, downAt: ['owner', 'c'], logins: ['b'], back: 'ws://b:1/websocket' },
    }
    for (const [name, k] of Object.entries(cases)) {
      const h = t.fresh()
      h.alternates = ['ws=b:1', 'ws=c:1 wss=c:2', 'kcp=owner:5', 'ws=bad']
      const logins = []
      h.enter = (n, link) => {
        const at = new URL(link.url).hostname
        logins.push(at)
        return k[at]
      }
      const c = await t.enter({ url: 'ws://owner:1' })
      await t.pass(10_000)
      same(logins.splice(0), ['owner'], name)
      h.downAt = k.downAt ?? ['owner']
      h.link.cut()
      await t.pass(k.up ?? 0)
      if (k.up) h.downAt = h.downAt.filter(at => at !== 'owner')
      await t.pass(25_000)
      if (name === 'lost') logins.splice(1, 1, ...k.logins.filter(at => at !== logins[0])) // only one of the two is asked
      same(k.logins.filter(at => !logins.includes(at)), [], `${name}: not asked, of ${logins}`)
      same(h.links.filter((l, n) => n > 0 && l.url.includes('owner')).length >= 2, true, `${name}: attempts at the owner`)
      if (k.back !== undefined) {
        same([c.attached, h.link.url], [true, k.back], `${name}: ${c.end}`)
        c.abort()
        continue
      }
      const { cause } = c.end.error
      same([c.end.error instanceof lib.GaveUpError, cause.over, cause.reason], [true, true, k.end], `${name}: ${c.end}`)
    }
  },

  /** A client that is closed between two hosts opens no more connections. */
  async closeBetweenHosts(t) {
    const h = t.host
    const c = await t.enter()
    h.alternates = ['ws=b:1']
    h.enter = (n, link) => {
      queueMicrotask(() => queueMicrotask(() => c.abort()))
      return { ...refusal(0), endpoints: 'ws=b:1' }
    }
    h.link.cut()
    await t.pass(minute)
    same([h.links.length, c.end?.local], [2, true], 'connections')
  },

  /** The losses after which a client makes no attempt. */
  async endsAtOnce(t) {
    const cases = {
      takenOver: { code: 4001 }, kicked: { code: 4006 }, gameEnded: { code: 4005 }, gameCrashed: { code: 4013 }, left: { code: 1000 },
      off: { options: { reconnect: false }, code: 1006 }, offDrained: { options: { reconnect: false }, code: 1001 },
    }
    for (const [name, k] of Object.entries(cases)) {
      const h = t.fresh()
      const c = await t.enter(k.options)
      h.link.end(k.code, 'why')
      await t.pass(minute)
      same([h.at.length, c.events()], [1, ['end']], name)
      same([c.end.code, c.end.reason, c.end.local], k.code === 1006 ? [0, '', false] : [k.code, 'why', false], `${name}: ${c.end}`)
    }
  },

  /** When the first attempt after a loss is made. */
  async delayOfAnAttempt(t) {
    const cases = {
      anAccident: { lasted: 10_000, lose: h => h.link.cut(), least: 0, most: 200 },
      later: { lasted: 10_000, lose: h => h.link.bye(4010), least: 1000, most: 2000 },
      networkChanged: { lasted: 1000, lose: (h, c) => c.networkChanged(), least: 0, most: 0 },
      outage: { lasted: 1000, lose: (h, c) => c.outage(7000), least: 7000, most: 7000 },
    }
    for (const [name, k] of Object.entries(cases)) {
      const h = t.fresh()
      const c = await t.enter()
      await t.pass(k.lasted)
      const lost = t.clock.now
      k.lose(h, c)
      await t.pass(20_000)
      same([h.at.length, c.attached], [2, true], name)
      between(h.at[1] - lost, k.least, k.most, name)
      c.abort()
    }
  },

  /** A program that reports a new network ends the wait for the next attempt, but not a wait that the host asked for. */
  async networkBack(t) {
    const ages = { delayMs: hour, delayMaxMs: hour, giveUpAfterMs: 2 * hour }
    let h = t.host
    let c = await t.enter({ reconnect: ages })
    h.link.cut()
    await t.pass(1)
    same(c.attached, false, 'attached')
    c.networkChanged()
    await t.pass(0)
    same([h.at.length, c.attached], [2, true], 'after a change')
    c.abort()

    h = t.fresh()
    h.enter = n => n === 2 ? refusal(10_000) : undefined
    c = await t.enter({ reconnect: { ...ages, delayMs: 20_000, delayMaxMs: 20_000 } })
    c.networkChanged() // an attempt at once, which is refused
    for (let n = 0; n < 3; n++) {
      await t.pass(1000)
      c.networkChanged()
    }
    await t.pass(10_000)
    same([h.at.length, h.at[2] - h.at[1], c.attached], [3, 10_000, true], 'too early')
  },

  /** A browser's online event, and a page that is shown again, have the client look after its connection. */
  async watchNetwork(t) {
    const page = pageOf(t)
    try {
      const ages = { delayMs: hour, delayMaxMs: hour, giveUpAfterMs: 2 * hour }
      let h = t.host
      let c = await t.enter({ reconnect: ages })
      for (const [n, happens] of [page.online, page.shown].entries()) {
        h.link.cut()
        await t.pass(1)
        page.hidden()
        await t.pass(1000)
        same([c.attached, h.at.length], [false, n + 1], 'while the page is hidden')
        happens()
        await t.pass(0)
        same([c.attached, h.at.length], [true, n + 2], `event ${n}`)
      }
      // A host that answers is asked, and keeps the player. A silent one is found long before silenceMaxMs is over.
      const asked = h.pings
      page.online()
      await t.pass(5000)
      same([h.pings > asked, c.attached, h.at.length], [true, true, 3], 'a host that answers')
      h.silent = true
      const before = h.pings
      page.shown()
      await t.pass(2499)
      same([h.pings, c.attached], [before + 1, true], 'a silent host, in time')
      await t.pass(2)
      same([c.attached, c.events().at(-1)], [false, 'detached'], 'a silent host')
      c.abort()
      same(page.listeners(), 0, 'listeners after the end')

      h = t.fresh()
      c = await t.enter({ reconnect: ages, watchNetwork: false })
      same(page.listeners(), 0, 'listeners of a client that does not watch')
      h.link.cut()
      await t.pass(1)
      page.online()
      await t.pass(1000)
      same([c.attached, h.at.length], [false, 1], 'without watchNetwork')
    } finally {
      page.remove()
    }
  },

  /** Attempts continue for the host's window and a margin, or as long as the program sets. */
  async givesUp(t) {
    for (const giveUpAfterMs of [0, 1000, hour]) {
      const h = t.fresh()
      h.windowMs = 10_000
      const c = await t.enter({ reconnect: { giveUpAfterMs } })
      h.down = true
      h.link.cut()
      const most = giveUpAfterMs || 15_000
      await t.pass(most - 1)
      same(c.end, undefined, `${most}: end`)
      await t.pass(2)
      check(c.end?.error instanceof t.lib.GaveUpError && c.end.retry === 'never' && !c.end.local, `${most}: ${c.end}`)
      same(c.events(), ['detached', 'end'], `${most}: events`)
      await fails((async () => c.send({ opCode: 1, targetPlayer: -1 }))(), t.lib.ClosedError, 'a message after the end')
    }
  },

  /** A connection that was begun without a network, and hangs, does not delay the return once there is one: another one is opened beside it. */
  async hangingConnection(t) {
    for (let away = 1000; away <= 30_000; away += 500) {
      const h = t.fresh()
      const c = await t.enter()
      await t.pass(10_000)
      h.down = true
      h.link.cut()
      await t.pass(away)
      h.down = false
      const opening = h.links.filter(link => link.readyState === 0).length
      check(opening <= 3, `${away}: ${opening} are opening`)
      await t.pass(3000) // one is opened every 2 s, and attempts wait for 0.8 s at most
      same([c.attached, h.logins.length, c.events()], [true, 2, ['detached', 'reconnected']], `${away}: ${c.end}`)
      same(h.links.filter(link => link !== h.link && link.readyState !== 3).length, 0, `${away}: left open`)
      c.abort()
    }
  },

  /** An outage detaches at once, and a login that is answered at that moment does not attach before it is over. */
  async outageWhileLoggingIn(t) {
    const h = t.host
    const c = await t.enter({ reconnect: { giveUpAfterMs: hour } })
    h.enter = (n, link) => {
      if (n !== 2) return undefined
      h.answer(link, { success: true, caps: 1, outcome: 1 })
      c.outage(minute)
      return null
    }
    h.link.cut()
    await t.pass(59_000)
    same([c.attached, h.logins.length], [false, 2], 'during the outage')
    await t.pass(minute)
    same([c.attached, h.logins.length], [true, 3], 'after it')
    c.outage(minute)
    same(c.attached, false, 'at once')
  },

  /** A wrong number ends the connection only; repeated ones end the client, unless messages arrive in between. */
  async repeatedWrongNumbers(t) {
    const violations = {
      theHosts: link => link.deliver(t.lib.packet({ opCode: 9, sender: -1, reliable: true, relSeq: 2 ** 40 })),
      saidToOurs: link => link.bye(4008),
    }
    for (const [name, violate] of Object.entries(violations)) {
      const h = t.fresh()
      const c = await t.enter()
      for (let n = 0; n < 15; n++) {
        if (n % 2 === 0) h.say('A')
        else c.send({ opCode: 1, targetPlayer: -1, payload: 'a' })
        await t.pass(1000)
        violate(h.link)
        await t.pass(10_000)
        same(c.events(), [...n % 2 === 0 ? ['A'] : [], 'detached', 'reconnected'], `${name} ${n}: events (${c.end})`)
      }
      for (let n = 0; n < 4; n++) {
        check(c.attached, `${name}: ended after ${n}: ${c.end}`)
        violate(h.link)
        await t.pass(10_000)
      }
      const { error, retry } = c.end ?? {}
      check(error instanceof t.lib.GaveUpError && retry === 'never' && (name !== 'theHosts' || error.cause instanceof t.lib.NumbersError), `${name}: ${c.end}`)
    }
  },

  /** A login that was given up and reaches the host late takes the player over: the client comes back. Much later, it is another device. */
  async lateLoginOfItsOwn(t) {
    for (const late of [100, 10_000]) {
      const h = t.fresh()
      const c = await t.enter()
      const old = h.link
      h.enter = n => n === 2 ? null : undefined
      const stop = new AbortController()
      const moved = fails(c.move('ws://other:1900', { signal: stop.signal }), RangeError, 'a move to a slow host')
      await t.pass(1000)
      stop.abort(new RangeError('enough'))
      await t.pass(late)
      await moved
      old.bye(4001)
      await t.pass(minute)
      if (late < 10_000) {
        h.say('A')
        await t.pass(0)
      }
      same(c.events(), late < 10_000 ? ['detached', 'reconnected', 'A'] : ['end'], `after ${late} ms`)
    }
  },

  /** An answer that comes after the time of its attempt does not attach. */
  async answerAfterTheAttempt(t) {
    const h = t.host
    const c = await t.enter()
    let slow
    h.enter = (n, link) => n === 2 ? (slow = link, null) : undefined
    h.link.cut()
    await t.pass(3300) // the first attempt may take 3 s
    h.answer(slow, { success: true, caps: 1, outcome: 1, token: 'late' })
    await t.pass(10_000)
    c.send({ opCode: 1, targetPlayer: -1, payload: 'a' })
    await t.pass(0)
    same([h.heard, h.logins.length, h.logins[2].token, slow.how > 1000], [['a'], 3, 'token-1', true], 'the host')
  },

  /** A move lets the old connection go without a leave, and its late close is not the end. */
  async moveIsNoTakeover(t) {
    const h = t.host
    const c = await t.enter()
    const old = h.link
    h.enter = () => {
      old.bye(4001) // the host closes the old connection before it answers
      return undefined
    }
    const moving = c.move('ws://other:1900')
    await t.pass(0)
    await moving
    h.enter = () => undefined
    h.say('A')
    await t.pass(minute)
    same([c.events(), c.attached, h.link.url], [['A'], true, 'ws://other:1900/websocket'], 'after the move')
  },

  /** At a host without numbers, the token resumes the player, and messages are kept until they are written. */
  async hostWithoutNumbers(t) {
    const h = t.host
    h.caps = 0
    const c = await t.enter({ sendBufferMessages: 2 })
    c.outage(1000)
    for (const text of ['a', 'b']) c.send({ opCode: 1, targetPlayer: -1, payload: text })
    let room = false
    void c.room().then(() => { room = true })
    await t.pass(500)
    same(room, false, 'room during the outage')
    await t.pass(minute)
    h.say('A')
    await t.pass(0)
    same([h.heard, room, h.logins.map(l => [l.token, l.lastReceived])], [['a', 'b'], true, [['', 0], ['token-1', 0]]], 'the host')
    same(c.events(), ['detached', 'reconnected', 'A'], 'events')
  },

  /** close and abort during an absence end the client at once. */
  async endsWhileDetached(t) {
    for (const how of ['close', 'abort']) {
      const h = t.fresh()
      const c = await t.enter()
      c.outage(minute)
      c[how]()
      await t.pass(0)
      check(c.end?.local, `${how}: ${c.end}`)
      await t.pass(2 * minute)
      same(h.at.length, 1, `${how}: attempts`)
    }
  },

  /** An ack waits 200 ms for a packet that carries it; sixteen packets are acknowledged at once. */
  async ackTimes(t) {
    const h = t.host
    await t.enter()
    h.say('A')
    await t.pass(199)
    same(h.kept.length, 1, 'before the time')
    await t.pass(2)
    same(h.kept.length, 0, 'after it')
    for (let n = 0; n < 16; n++) h.say('B')
    await t.pass(0)
    same(h.kept.length, 0, 'after sixteen')
  },

  /** A program may end its client while it is told of a new connection, which is the current one: a close is a leave. */
  async closeWhileToldOfANewConnection(t) {
    for (const event of ['reconnected', 'gap']) {
      const h = t.fresh()
      const c = await t.enter()
      let ended
      c.on(event, () => {
        c.send({ opCode: 1, targetPlayer: -1, payload: 'bye' })
        void c.close().then(end => { ended = end })
      })
      if (event === 'gap') h.enter = () => ({ outcome: 2, lastReceived: h.received, base: h.last += 3 })
      h.link.cut()
      await t.pass(minute)
      same([ended?.local, h.logins.length, h.link.how, h.heard], [true, 2, 1000, ['bye']], `close in ${event}`)
    }
  },

  /** A connection that the program drops while it is told of it is a loss like any other. */
  async networkChangedInReconnected(t) {
    const h = t.host
    const c = await t.enter()
    let once = false
    c.on('reconnected', () => {
      if (!once) c.networkChanged()
      once = true
    })
    h.link.cut()
    await t.pass(minute)
    same([c.events(), c.attached, h.logins.length], [['detached', 'reconnected', 'detached', 'reconnected'], true, 3], 'events')
  },

  /** Whatever a handler of `gap` does in the middle of a move, the client ends or goes on. */
  async gapInMove(t) {
    for (const how of ['close', 'abort', 'networkChanged', 'signal']) {
      const h = t.fresh()
      const c = await t.enter()
      const stop = new AbortController()
      let ended = false
      void c.done.then(() => { ended = true })
      c.on('gap', () => how === 'signal' ? stop.abort() : void c[how]())
      h.enter = n => n === 2 ? { outcome: 2, lastReceived: h.received, base: h.last += 3 } : undefined
      c.move('ws://other:1900', { signal: stop.signal }).catch(() => undefined)
      await t.pass(5 * minute)
      if (how === 'close' || how === 'abort') same(ended, true, `${how}: ended`)
      else {
        c.send({ opCode: 1, targetPlayer: -1, payload: 'a' })
        h.say('A')
        await t.pass(5 * minute)
        same([c.attached, h.heard, c.events().filter(e => e === 'A')], [true, ['a'], ['A']], how)
      }
    }
  },

  /** Timers of the platforms overflow at 2**31 ms: a longer time means never, not at once. */
  async connectTimeoutInfinite(t) {
    for (const connectTimeoutMs of [Infinity, 2 ** 31]) {
      const real = globalThis.setTimeout
      globalThis.setTimeout = (call, ms = 0) => real(call, ms > 2 ** 31 - 1 ? 1 : ms) // as the platforms do
      const h = t.fresh()
      h.enter = (n, link) => (real(() => h.answer(link, { success: true, caps: 1 }), 50), null)
      const entering = t.connect({ connectTimeoutMs })
      await t.pass(minute)
      const c = await entering
      t.clients.push(c)
      same(c.attached, true, String(connectTimeoutMs))
    }
  },

  async silenceInfinite(t) {
    const real = globalThis.setTimeout
    let timers = 0
    globalThis.setTimeout = (call, ms = 0) => (timers++, real(call, ms > 2 ** 31 - 1 ? 1 : ms))
    await t.enter({ silenceMaxMs: Infinity })
    await t.pass(1000)
    check(timers < 10, `${timers} timers in a second`)
  },

  /** The host's silence counts from the last thing it sent, also if that was an answer. */
  async silenceTime(t) {
    const h = t.host
    const c = await t.enter({ reconnect: false })
    await t.pass(5500) // asked at 5000, and answered
    same(h.pings, 1, 'pings')
    h.silent = true
    await t.pass(15_100)
    same(c.attached, false, 'attached 15.6 s after the last sign of life')
  },

  /** A move that waits for another one ends with its signal. */
  async moveSignalBehindAnotherMove(t) {
    const h = t.host
    const c = await t.enter()
    h.down = true
    const first = c.move('ws://slow:1900').catch(() => undefined)
    const stop = new AbortController()
    let second
    c.move('ws://other:1900', { signal: stop.signal }).catch(error => { second = error })
    await t.pass(100)
    stop.abort(new RangeError('enough'))
    await t.pass(1000)
    check(second instanceof RangeError, `a second after the signal: ${second}`)
    await t.pass(minute)
    await first
  },

  /** A silent host is found although every timer is late, as in a page that stays hidden. */
  async silenceInAHiddenPage(t) {
    const h = t.host
    const c = await t.enter({ reconnect: false })
    h.silent = true
    for (let n = 0; n < 10 && c.attached; n++) { // one round of timers a minute
      t.clock.now += minute
      await t.pass(0)
    }
    same(c.attached, false, `after ten minutes and ${h.pings} pings`)
  },

  /** A connection that is lost during a move to a host that does not answer comes back in time. */
  async lossDuringAMove(t) {
    const h = t.host
    const c = await t.enter()
    const old = h.link
    h.enter = n => n === 2 ? null : undefined
    let failed
    c.move('ws://other:1900').catch(error => { failed = error })
    await t.pass(100)
    old.cut()
    await t.pass(5000)
    same([failed?.constructor.name, c.attached, c.events()], ['DetachedError', true, ['detached', 'reconnected']], 'after 5 s')
  },

  /** close during a move is a leave, also if the host has moved the player already. */
  async closeDuringAMove(t) {
    const h = t.host
    const c = await t.enter()
    const old = h.link
    h.enter = () => {
      old.bye(4001)
      return null // the answer is under way
    }
    c.move('ws://other:1900').catch(() => undefined)
    await t.pass(10)
    void c.close()
    await t.pass(minute)
    same([c.end?.local, h.link.how], [true, 1000], 'how the connection ended that is the current one at the host')
  },

  /** What is decided after a loss and after an attempt: the table of the Go SDK's TestPolicy. */
  async policy(t) {
    const { giveUpAfter, delayMax, delayAfter, afterLoss, afterAttempt, attemptMax, RecentLosses, End, settingsOf } = t.lib
    const r = settingsOf(t.options()).reconnect
    same(r, { delayMs: 200, delayMaxMs: 5000, giveUpAfterMs: 0 }, 'defaults')
    for (const [n, most] of [[-2, 20], [-1, 100], [0, 200], [1, 400], [4, 3200], [5, 5000], [1000, 5000]]) {
      same(delayMax(r, n), most, `attempt ${n}`)
      for (let k = 0; k < 100; k++) {
        between(delayAfter(r, n, Infinity, 0), 0, most, `delay ${n}`)
        between(delayAfter(r, n, 0, 0), 0, Math.min(most, 200), `delay ${n} right after the loss`)
        between(delayAfter(r, n, 0, 60_000), 0, Math.max(most, 2000), `delay ${n} after a request`)
      }
    }
    same([giveUpAfter(r, 0), giveUpAfter(r, minute), giveUpAfter({ ...r, giveUpAfterMs: hour }, minute)], [35_000, 65_000, hour], 'patience')
    const next = (asked, atOnce, final) => ({ asked, atOnce, final })
    const host = code => new End(code, '', false)
    const lost = new End(0, '', false, new Error('reset'))
    for (const [name, got, want] of [
      ['lost', afterLoss(lost), next(0, false, false)],
      ['dropped here', afterLoss(new End(0, '', false, new t.lib.DroppedError())), next(0, true, false)],
      ['slow', afterLoss(host(4002)), next(0, false, false)],
      ['draining', afterLoss(host(1001)), next(1000, false, false)],
      ['taken over', afterLoss(host(4001)), next(0, false, true)],
      ['left', afterLoss(new End(0, '', true)), next(0, false, true)],
      ['refused', afterAttempt(new t.lib.RefusedError(0, '')), next(0, false, true)],
      ['not now', afterAttempt(new t.lib.RefusedError(3000, '')), next(3000, false, false)],
      ['numbers', afterAttempt(new t.lib.NumbersError('')), next(0, false, true)],
      ['not resumed', afterAttempt(new t.lib.NotResumedError()), next(0, false, true)],
      ['try later', afterAttempt(new t.lib.EndedError(host(4011))), next(1000, false, false)],
      ['game over', afterAttempt(new t.lib.EndedError(host(4005))), next(0, false, true)],
      ['broken', afterAttempt(new t.lib.EndedError(lost)), next(0, false, false)],
      ['unreachable', afterAttempt(new Error('unreachable')), next(0, false, false)],
    ]) same(got, want, name)
    same([0, 1, 2, 3].map(n => attemptMax(15_000, n)), [3000, 6000, 12_000, 15_000], 'times of attempts')
    const losses = new RecentLosses()
    const tries = []
    for (let n = 0; n < 12; n++) tries.push(losses.next(100_000 + 10 * n, 5))
    same([tries[0], tries[9], tries[11], losses.over], [-1, -2, 5, true], 'losses in a row')
    same(losses.next(200_000, 5), -1, 'a loss after a calm')
  },
}

/** The page's events: those of a browser, or stand-ins where there is none. */
function pageOf(t) {
  const browser = globalThis.document !== undefined
  if (!browser) Object.assign(globalThis, { window: new EventTarget(), document: Object.assign(new EventTarget(), { visibilityState: 'visible' }) })
  const { window, document } = globalThis
  let count = 0
  for (const target of [window, document]) {
    const { addEventListener, removeEventListener } = target
    target.addEventListener = (...args) => (count++, addEventListener.apply(target, args))
    target.removeEventListener = (...args) => (count--, removeEventListener.apply(target, args))
  }
  const show = state => Object.defineProperty(document, 'visibilityState', { configurable: true, value: state })
  return {
    online() {
      show('visible')
      window.dispatchEvent(new Event('online'))
    },
    shown() {
      show('visible')
      document.dispatchEvent(new Event('visibilitychange'))
    },
    /** Hides the page, and says that there is a network: nobody looks at it, so that can wait. */
    hidden() {
      show('hidden')
      document.dispatchEvent(new Event('visibilitychange'))
      window.dispatchEvent(new Event('online'))
    },
    listeners: () => count,
    remove() {
      for (const c of t.clients) c.abort()
      for (const target of [window, document]) {
        delete target.addEventListener
        delete target.removeEventListener
      }
      delete document.visibilityState
      if (!browser) for (const name of ['window', 'document']) delete globalThis[name]
    },
  }
}
