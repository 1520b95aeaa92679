// @troupe/client 0.1.0, Apache-2.0. Built from TypeScript: transport/client/js.

// src/waiting.ts
function now() {
  return performance.now();
}
var timerMax = 2 ** 31 - 1;
var Sleep = class {
  end;
  /** Resolves after a time with false, or at `wake` with true. */
  for(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.end?.(false), Math.min(ms, timerMax));
      this.end = (woken) => {
        clearTimeout(timer);
        this.end = void 0;
        resolve(woken);
      };
    });
  }
  wake() {
    this.end?.(true);
  }
};
var Waiters = class {
  all = /* @__PURE__ */ new Set();
  /** Resolves at the next `wake`. Rejects with the signal's reason. */
  wait(signal) {
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const done = () => {
        this.all.delete(done);
        signal?.removeEventListener("abort", aborted);
        resolve();
      };
      const aborted = () => {
        this.all.delete(done);
        reject(signal.reason);
      };
      this.all.add(done);
      signal?.addEventListener("abort", aborted, { once: true });
    });
  }
  wake() {
    for (const done of [...this.all]) done();
  }
};
async function unless(promise, signal) {
  signal?.throwIfAborted();
  let aborted;
  const abort = new Promise((_, reject) => {
    aborted = () => reject(signal.reason);
  });
  signal?.addEventListener("abort", aborted, { once: true });
  try {
    await Promise.race([promise, abort]);
  } finally {
    signal?.removeEventListener("abort", aborted);
  }
}

// src/alive.ts
var lateMax = 1e3;
var Alive = class {
  constructor(silenceMax, ask, silent) {
    this.silenceMax = silenceMax;
    this.ask = ask;
    this.silent = silent;
  }
  silenceMax;
  ask;
  silent;
  timer;
  heardAt = 0;
  asked = false;
  /** It was asked once more, because the time of the first question ended late. */
  again = false;
  due = 0;
  /** Begins to watch a new connection. */
  start() {
    this.stop();
    this.heard();
    this.wait(this.quiet);
  }
  stop() {
    clearTimeout(this.timer);
    this.timer = void 0;
  }
  /** Something came from the host. */
  heard() {
    this.heardAt = now();
    if (!this.asked) return;
    this.asked = false;
    this.wait(this.quiet);
  }
  /** Asks at once, and waits for a shorter time: something says that the network has changed. */
  probe(patience) {
    if (this.timer === void 0) return;
    this.question(Math.min(patience, this.silenceMax - this.quiet));
  }
  /** How long the host may be quiet before it is asked. */
  get quiet() {
    return this.silenceMax / 3;
  }
  question(patience, again = false) {
    this.asked = true;
    this.again = again;
    this.wait(patience);
    this.ask();
  }
  wait(ms) {
    clearTimeout(this.timer);
    this.due = now() + ms;
    this.timer = setTimeout(() => this.look(), ms);
  }
  look() {
    const time = now();
    if (!this.asked) {
      const rest = this.quiet - (time - this.heardAt);
      if (rest > 0) this.wait(rest);
      else this.question(this.silenceMax - this.quiet);
    } else if (!this.again && time - this.due > lateMax) this.question(this.silenceMax - this.quiet, true);
    else {
      this.timer = void 0;
      this.silent();
    }
  }
};

// src/protocol.ts
var SERVER = -1;
var ALL_PLAYERS = -1;
var PAYLOAD_MAX = 4096;
var UNIT_MAX = 1 << 20;
var CLIENT_VERSION = 2;
var CAP_NUMBERS = 1;
var CAP_MOVES = 2;
var ALTERNATES_MAX = 3;
var Op = {
  login: 0,
  loginResponse: -1,
  ping: -2,
  pingResult: -3,
  udpConnect: -5,
  serverAck: -6,
  clientAck: -7,
  joinGroup: -10,
  leaveGroup: -11,
  requestMembership: -12,
  membershipUpdate: -13,
  verifyIdentity: -14,
  verifyIdentityResponse: -15,
  playerConnect: -101,
  playerDisconnect: -103,
  gameStart: -1e3,
  gameEnd: -1001
};
var Command = {
  none: 0,
  login: 30,
  loginResult: 31,
  ping: 32,
  verifyIdentity: 37,
  joinGroup: 40,
  leaveGroup: 41,
  requestMembership: 42,
  membershipUpdate: 43
};
var OUTCOME_NEW = 0;
var reserved = /* @__PURE__ */ new Set([
  Op.loginResponse,
  Op.pingResult,
  Op.udpConnect,
  Op.serverAck,
  Op.clientAck,
  Op.joinGroup,
  Op.leaveGroup,
  Op.requestMembership,
  Op.membershipUpdate,
  Op.verifyIdentity,
  Op.verifyIdentityResponse,
  Op.playerConnect,
  Op.playerDisconnect,
  Op.gameStart,
  Op.gameEnd
]);
function isReserved(opCode) {
  return reserved.has(opCode);
}
var REFUSED_GAME_ENDED = 101;
var refusals = /* @__PURE__ */ new Map([
  [REFUSED_GAME_ENDED, "the game session has ended"],
  [102, "the game session is full"],
  [103, "the game does not let the player in"],
  [104, "the player session is over"],
  [105, "the reconnect token is not valid any more"],
  [106, "the player session is in use by another connection"]
]);
function refusal(outcome) {
  return refusals.get(outcome) ?? "";
}
var overs = /* @__PURE__ */ new Map([
  [1, "the host of the game session was lost"],
  [2, "the game session has ended"],
  [3, "no host knows the player session (any more)"]
]);
function overText(over) {
  return over === 0 ? "" : overs.get(over) ?? "the game session is over";
}
var Close = {
  normal: 1e3,
  goingAway: 1001,
  takenOver: 4001,
  malformed: 4003,
  gameEnded: 4005,
  kicked: 4006,
  outOfOrder: 4008,
  tooFast: 4010,
  tryLater: 4011,
  gameCrashed: 4013
};
var never = /* @__PURE__ */ new Set([Close.normal, Close.takenOver, Close.malformed, Close.gameEnded, Close.kicked, Close.gameCrashed]);
var later = /* @__PURE__ */ new Set([Close.goingAway, Close.tooFast, Close.tryLater]);
function retryOf(code) {
  return never.has(code) ? "never" : later.has(code) ? "later" : "resume";
}
var CLOSE_DROPPED = 4900;

// src/errors.ts
var End = class {
  constructor(code, reason, local, error) {
    this.code = code;
    this.reason = reason;
    this.local = local;
    this.error = error;
  }
  code;
  reason;
  local;
  error;
  /** What a program should do next: a client does this by itself. */
  get retry() {
    if (this.local || this.error instanceof GaveUpError) return "never";
    return this.code === 0 ? "resume" : retryOf(this.code);
  }
  toString() {
    if (this.local) return "closed here";
    if (this.code !== 0) return `closed by the host: ${this.code}${this.reason === "" ? "" : " " + this.reason}`;
    return `connection lost: ${this.error?.message ?? "no reason given"}`;
  }
};
var RefusedError = class extends Error {
  constructor(retryAfterMs, reason, over = false, moved) {
    super(retryAfterMs > 0 ? `login refused for now: again after ${retryAfterMs} ms` : reason !== "" ? `login refused: ${reason}` : "login refused without a reason, as hosts do if they do not know the player session (any more)");
    this.retryAfterMs = retryAfterMs;
    this.reason = reason;
    this.over = over;
    this.moved = moved;
  }
  retryAfterMs;
  reason;
  over;
  moved;
  name = "RefusedError";
};
var EndedError = class extends Error {
  constructor(end, text = end.toString()) {
    super(text, { cause: end.error });
    this.end = end;
  }
  end;
  name = "EndedError";
};
var TimeoutError = class extends Error {
  name = "TimeoutError";
};
var ClosedError = class extends Error {
  name = "ClosedError";
  constructor() {
    super("the client has ended");
  }
};
var DetachedError = class extends Error {
  name = "DetachedError";
  constructor() {
    super("not connected at the moment");
  }
};
var BufferFullError = class extends Error {
  name = "BufferFullError";
  constructor() {
    super("the send buffer is full");
  }
};
var GaveUpError = class extends Error {
  name = "GaveUpError";
};
var SilentError = class extends Error {
  name = "SilentError";
};
var NumbersError = class extends Error {
  name = "NumbersError";
  constructor(what) {
    super(`the host's numbers do not add up: ${what}`);
  }
};
var NotResumedError = class extends Error {
  name = "NotResumedError";
  constructor() {
    super("the host knows nothing of the player session's past");
  }
};
var DroppedError = class extends Error {
  name = "DroppedError";
  constructor() {
    super("dropped here");
  }
};

// src/connection.ts
var bufferedMax = 256 << 10;
var stateOpen = 1;
var Connection = class {
  constructor(WebSocket, url, handlers) {
    this.url = url;
    this.handlers = handlers;
    const ws = new WebSocket(url);
    this.ws = ws;
    ws.binaryType = "arraybuffer";
    ws.onopen = () => this.handlers?.opened();
    ws.onmessage = (event) => this.handlers?.unit(event.data instanceof ArrayBuffer ? new Uint8Array(event.data) : void 0);
    ws.onerror = (event) => {
      const { error, message } = event;
      this.drop(error instanceof Error ? error : new Error(typeof message === "string" && message !== "" ? message : "no reason given"));
    };
    ws.onclose = (event) => {
      const code = event.code ?? 1006;
      this.finish(code === 1006 ? new End(0, "", false, new Error("the connection broke")) : new End(code, event.reason ?? "", false));
    };
  }
  url;
  ws;
  handlers;
  /** Whether more may be written. */
  get writable() {
    return this.ws.readyState === stateOpen && this.ws.bufferedAmount < bufferedMax;
  }
  send(unit) {
    try {
      this.ws.send(unit);
    } catch (error) {
      this.drop(error instanceof Error ? error : new Error(String(error)));
    }
  }
  /** Sends what was written, and a close frame that says that the player leaves. `ended` follows, unless the network is gone. */
  leave() {
    this.ws.close(Close.normal);
  }
  /** Ends the connection at once; to the host it is a loss. */
  drop(cause = new DroppedError()) {
    if (this.handlers === void 0) return;
    this.release(CLOSE_DROPPED);
    this.finish(new End(0, "", false, cause));
  }
  /** Ends a connection that nobody waits for any more. */
  discard(code = CLOSE_DROPPED) {
    this.handlers = void 0;
    this.release(code);
  }
  release(code) {
    const { ws } = this;
    ws.onopen = ws.onmessage = ws.onclose = null;
    ws.onerror = () => void 0;
    try {
      ws.close(code);
    } catch {
    }
  }
  finish(end) {
    const { handlers } = this;
    this.handlers = void 0;
    handlers?.ended(end);
  }
};

// src/attempt.ts
var besideAfter = 2e3;
var openingMax = 3;
var Attempt = class {
  began = now();
  /** The connection that has opened. */
  connection;
  /** Resolves when the login is accepted. After a rejection nothing is left of the attempt. */
  done;
  /** LOGIN was sent and is not answered: it may still reach the host. */
  asked = false;
  answered = false;
  over = false;
  opening = [];
  beside;
  /** How the last connection ended that did not open, while others may still do. */
  refused;
  resolve;
  reject;
  stop;
  /** Throws what the platform says about an address that it does not open. */
  constructor(WebSocket, url, timeout, signal, hooks) {
    signal?.throwIfAborted();
    const open = () => {
      const connection = new Connection(WebSocket, url, {
        opened: () => {
          this.asked = true;
          this.connection = connection;
          this.dropOthers();
          hooks.ask(connection);
        },
        unit: (unit) => {
          if (this.answered) hooks.unit(connection, unit);
          else this.onAnswer(hooks, connection, unit);
        },
        ended: (end) => {
          if (this.answered) hooks.ended(connection, end);
          else if (this.asked) this.fail(new EndedError(end));
          else {
            this.opening = this.opening.filter((other) => other !== connection);
            this.refused = new EndedError(end);
            if (this.opening.length === 0) this.fail(new EndedError(end, `no connection to ${url}: ${end.error?.message ?? end}`));
          }
        }
      });
      this.opening.push(connection);
      if (this.opening.length > openingMax) this.opening.shift().discard();
      this.beside = setTimeout(() => {
        try {
          open();
        } catch {
        }
      }, besideAfter);
    };
    open();
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    const timer = setTimeout(() => {
      const before = this.refused === void 0 ? "" : `; before: ${this.refused.message}`;
      this.fail(new TimeoutError(`no answer from ${url} within ${Math.round(timeout)} ms${before}`, { cause: this.refused }));
    }, Math.max(0, timeout));
    const aborted = () => this.fail(signal.reason);
    signal?.addEventListener("abort", aborted, { once: true });
    this.stop = () => {
      this.over = true;
      clearTimeout(timer);
      clearTimeout(this.beside);
      signal?.removeEventListener("abort", aborted);
    };
  }
  onAnswer(hooks, connection, unit) {
    this.asked = false;
    this.answered = true;
    this.stop();
    try {
      hooks.answer(this, connection, unit);
    } catch (error) {
      this.discard(error);
      return;
    }
    this.resolve();
  }
  /** Gives the attempt up, unless it is over. With leave, a host that has accepted the login is told that the player leaves. */
  fail(error, leave = false) {
    if (this.over) return;
    this.stop();
    this.discard(error, leave);
  }
  dropOthers() {
    clearTimeout(this.beside);
    for (const other of this.opening) if (other !== this.connection) other.discard();
    this.opening = [];
  }
  discard(error, leave = false) {
    this.dropOthers();
    this.connection?.discard(leave || error instanceof RefusedError ? Close.normal : void 0);
    this.reject(error);
  }
};

// src/policy.ts
var delayDefault = 200;
var delayMaxDefault = 5e3;
var windowMargin = 5e3;
var windowUnknown = 3e4;
var triesQuick = -2;
var triesCalm = -1;
var calm = 3e4;
var lossesMax = 10;
var lossEvery = 1e3;
var spreadMax = 2e3;
var laterMin = 1e3;
var attemptFirst = 3e3;
function giveUpAfter(r, windowMs) {
  return r.giveUpAfterMs || (windowMs || windowUnknown) + windowMargin;
}
function delayMax(r, n) {
  if (n <= triesQuick) return Math.min(r.delayMs / 10, r.delayMaxMs);
  if (n === triesCalm) return Math.min(r.delayMs / 2, r.delayMaxMs);
  return Math.min(r.delayMs * 2 ** Math.min(n, 30), r.delayMaxMs);
}
function delayAfter(r, n, away, asked) {
  const bound = asked > 0 ? Math.max(delayMax(r, n), Math.min(asked, spreadMax)) : Math.min(delayMax(r, n), Math.max(r.delayMs, away));
  return Math.random() * bound;
}
var RecentLosses = class {
  spent = 0;
  at = -Infinity;
  /** The last loss was one too many. */
  over = false;
  /** The number of the first attempt after a loss. After too many losses it is `tries`, the number of attempts so far. */
  next(now2, tries) {
    const since = now2 - this.at;
    this.at = now2;
    this.spent = Math.max(0, this.spent - since / lossEvery);
    this.over = this.spent + 1 > lossesMax;
    if (this.over) return Math.max(tries, 0);
    this.spent++;
    return since > calm ? triesCalm : triesQuick;
  }
};
function afterLoss(end) {
  switch (end.retry) {
    case "never":
      return { asked: 0, atOnce: false, final: true };
    case "later":
      return { asked: laterMin, atOnce: false, final: false };
  }
  return { asked: 0, atOnce: end.error instanceof DroppedError, final: false };
}
function afterAttempt(error) {
  if (error instanceof RefusedError) return { asked: error.retryAfterMs, atOnce: false, final: error.retryAfterMs === 0 };
  if (error instanceof NumbersError || error instanceof NotResumedError) return { asked: 0, atOnce: false, final: true };
  if (error instanceof EndedError) return { ...afterLoss(error.end), atOnce: false };
  return { asked: 0, atOnce: false, final: false };
}
function attemptMax(connectTimeoutMs, n) {
  return Math.min(connectTimeoutMs, attemptFirst * 2 ** Math.min(n, 10));
}

// src/comeback.ts
var violationsMax = 5;
var Comeback = class {
  constructor(o, numbers) {
    this.o = o;
    this.numbers = numbers;
  }
  o;
  numbers;
  tries = 0;
  losses = new RecentLosses();
  violations = { count: 0, progress: 0 };
  nudged = false;
  stopped = false;
  sleep = new Sleep();
  /** No attempt before this time, and none that began before it succeeds. */
  notBefore = 0;
  /** A connection is lost. */
  lost() {
    this.nudged = false;
  }
  /** The number of the next attempt depends on the losses before. */
  count() {
    this.tries = this.losses.next(now(), this.tries);
  }
  /** Ends the wait for the next attempt, unless the host has asked for it. */
  nudge() {
    this.nudged = true;
    this.sleep.wake();
  }
  /** Ends everything. */
  stop() {
    this.stopped = true;
    this.sleep.wake();
  }
  /** Whether there were so many violations of the numbers without progress that reconnecting makes no sense; then why. */
  hopeless(end) {
    if (!this.numbers.on || end.code !== Close.outOfOrder && !(end.error instanceof NumbersError)) return void 0;
    const { progress } = this.numbers;
    if (progress > this.violations.progress) this.violations = { count: 0, progress };
    this.violations.count++;
    if (this.violations.count < violationsMax) return void 0;
    return new GaveUpError(`did not come back: the numbers did not add up ${this.violations.count} times in a row`, { cause: end.error });
  }
  /** Makes attempts until one succeeds, each with its number and the time when all must be over. Returns why it has given up, or undefined. */
  async run(away, windowMs, next, attempt) {
    const until = away.since + giveUpAfter(this.o.reconnect, windowMs);
    let { asked } = next;
    let delay = next.atOnce ? 0 : this.delay(asked, away);
    let error = new TimeoutError("the time to come back is over");
    for (let n = 0; await this.pause(until, asked, delay); n++) {
      try {
        await attempt(n, until);
        return void 0;
      } catch (failure) {
        error = failure;
      }
      const then = afterAttempt(error);
      if (then.final) break;
      asked = then.asked;
      delay = this.delay(asked, away);
    }
    const took = Math.round(now() - away.since);
    return new GaveUpError(`did not come back: ${away.attempts} attempts in ${took} ms after "${away.end}": ${error.message}`, { cause: error });
  }
  /** The random wait before the next attempt, in addition to the one that the host asked for. */
  delay(asked, away) {
    if (asked > 0) this.tries = Math.max(this.tries, 0);
    const since = this.losses.over ? this.o.reconnect.delayMaxMs : now() - away.since;
    return delayAfter(this.o.reconnect, this.tries++, since, asked);
  }
  /** Waits before an attempt: first as long as the host asked for, then for a delay that a nudge ends. Returns false when there is to be no attempt. */
  async pause(deadline, asked, delay) {
    const earliest = now() + asked;
    let until = earliest + delay;
    for (; ; ) {
      const time = now();
      if (this.stopped || time >= deadline) return false;
      if (this.nudged) until = earliest;
      this.nudged = false;
      const wait = Math.max(until, this.notBefore) - time;
      if (wait <= 0) return true;
      await this.sleep.for(Math.min(wait, deadline - time));
    }
  }
};

// src/protobuf.ts
var MalformedError = class extends Error {
  name = "MalformedError";
};
var Type = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 };
var FIELD_MAX = 2 ** 29 - 1;
var FIELD_IN_GROUP_MAX = 2 ** 31 - 1;
var GROUP_DEPTH_MAX = 100;
var strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
var utf8 = new TextEncoder();
function encodeText(text) {
  return utf8.encode(text);
}
function decodeText(bytes) {
  try {
    return strict.decode(bytes);
  } catch {
    throw new MalformedError("text that is not UTF-8");
  }
}
var Reader = class {
  constructor(input) {
    this.input = input;
  }
  input;
  at = 0;
  /** The field that `next` has read: its number, its wire type and its value. */
  number = 0;
  type = 0;
  bytes = new Uint8Array(0);
  low = 0;
  high = 0;
  /** The integer just read; beyond 2^53 it is not exact. */
  get uint() {
    return this.high * 4294967296 + this.low;
  }
  /** The integer just read, as int32. */
  get int32() {
    return this.low | 0;
  }
  /** The integer just read, as sint32. */
  get sint32() {
    return this.low >>> 1 ^ -(this.low & 1);
  }
  get bool() {
    return this.low !== 0 || this.high !== 0;
  }
  get more() {
    return this.at < this.input.length;
  }
  /** Reads the next field; false at the end. Groups and values of fixed size are stepped over: no packet has any. */
  next() {
    if (!this.more) return false;
    this.tag(FIELD_MAX);
    const type = this.type;
    if (type === Type.varint) this.varint();
    else if (type === Type.bytes) this.bytes = this.delimited();
    else this.skip(this.number, type, GROUP_DEPTH_MAX);
    this.type = type;
    return true;
  }
  tag(max) {
    this.varint();
    this.type = this.low & 7;
    const number = Math.floor(this.uint / 8);
    if (number === 0 || number > max) throw new MalformedError("a field number that does not exist");
    this.number = number;
  }
  /** Reads an integer of up to 64 bits. */
  varint() {
    let low = 0;
    let high = 0;
    for (let i = 0; i < 10; i++) {
      const byte = this.input[this.at];
      if (byte === void 0) throw new MalformedError("the packet ends inside a number");
      this.at++;
      const bits = byte & 127;
      if (i < 4) low |= bits << 7 * i;
      else if (i === 4) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << 7 * i - 32;
      if (byte < 128) {
        if (i === 9 && byte > 1) break;
        this.low = low >>> 0;
        this.high = high >>> 0;
        return;
      }
    }
    throw new MalformedError("a number of more than 64 bits");
  }
  delimited() {
    this.varint();
    const size = this.uint;
    if (size > this.input.length - this.at) throw new MalformedError("the packet ends inside a field");
    const start = this.at;
    this.at += size;
    return this.input.subarray(start, this.at);
  }
  skip(number, type, depth) {
    switch (type) {
      case Type.varint:
        this.varint();
        return;
      case Type.bytes:
        this.delimited();
        return;
      case Type.fixed64:
        this.step(8);
        return;
      case Type.fixed32:
        this.step(4);
        return;
      case Type.startGroup:
        if (depth === 0) throw new MalformedError("groups nest too deep");
        this.group(number, depth - 1);
        return;
    }
    throw new MalformedError("a wire type that does not exist here");
  }
  step(size) {
    if (this.input.length - this.at < size) throw new MalformedError("the packet ends inside a field");
    this.at += size;
  }
  group(number, depth) {
    for (; ; ) {
      this.tag(FIELD_IN_GROUP_MAX);
      const inner = this.number;
      if (this.type === Type.endGroup) {
        this.number = number;
        if (inner !== number) throw new MalformedError("a group ends with another number");
        return;
      }
      this.skip(inner, this.type, depth);
      this.number = number;
    }
  }
};
var Writer = class {
  buffer = new Uint8Array(64);
  size = 0;
  /** What was written; valid until the next write. */
  get written() {
    return this.buffer.subarray(0, this.size);
  }
  uint(number, value) {
    if (value === 0) return;
    this.varint(number * 8 + Type.varint);
    this.varint(value);
  }
  /** An int32: negative values take ten bytes. */
  int32(number, value) {
    if (value >= 0) {
      this.uint(number, value);
      return;
    }
    this.varint(number * 8 + Type.varint);
    this.varint(value >>> 0, 4294967295);
  }
  sint32(number, value) {
    this.uint(number, (value << 1 ^ value >> 31) >>> 0);
  }
  bool(number, value) {
    this.uint(number, value ? 1 : 0);
  }
  text(number, value) {
    this.bytes(number, encodeText(value));
  }
  bytes(number, value) {
    if (value.length > 0) this.message(number, value);
  }
  /** A message or bytes, also when empty. */
  message(number, value) {
    this.varint(number * 8 + Type.bytes);
    this.varint(value.length);
    this.raw(value);
  }
  raw(value) {
    this.reserve(value.length);
    this.buffer.set(value, this.size);
    this.size += value.length;
  }
  /** An integer below 2^53, or the halves of one of 64 bits. */
  varint(value, high = Math.floor(value / 4294967296)) {
    this.reserve(10);
    let low = value >>> 0;
    while (high > 0 || low > 127) {
      this.buffer[this.size++] = low & 127 | 128;
      low = (low >>> 7 | high << 25) >>> 0;
      high >>>= 7;
    }
    this.buffer[this.size++] = low;
  }
  reserve(more) {
    if (this.size + more <= this.buffer.length) return;
    const grown = new Uint8Array(Math.max(2 * this.buffer.length, this.size + more));
    grown.set(this.buffer.subarray(0, this.size));
    this.buffer = grown;
  }
};

// src/options.ts
function settingsOf(o) {
  if (typeof o.playerSessionId !== "string" || o.playerSessionId === "") throw new TypeError("playerSessionId must be text");
  const WebSocket = o.WebSocket ?? globalThis.WebSocket;
  if (WebSocket === void 0) throw new TypeError("this platform has no WebSocket: give one as the option WebSocket (in Node.js 20, that of the package ws)");
  const reconnect = o.reconnect || {};
  return {
    url: checkURL(o.url),
    playerSessionId: o.playerSessionId,
    payload: checkPayload(o.payload),
    WebSocket,
    connectTimeoutMs: positive("connectTimeoutMs", o.connectTimeoutMs, 15e3),
    silenceMaxMs: positive("silenceMaxMs", o.silenceMaxMs, 15e3),
    reconnect: {
      delayMs: positive("reconnect.delayMs", reconnect.delayMs, delayDefault),
      delayMaxMs: positive("reconnect.delayMaxMs", reconnect.delayMaxMs, delayMaxDefault),
      giveUpAfterMs: positive("reconnect.giveUpAfterMs", reconnect.giveUpAfterMs, 0)
    },
    reconnects: o.reconnect !== false,
    sendBufferBytes: positive("sendBufferBytes", o.sendBufferBytes, 1 << 20),
    sendBufferMessages: positive("sendBufferMessages", o.sendBufferMessages, 4096),
    watchNetwork: o.watchNetwork ?? true
  };
}
function positive(name, value, otherwise) {
  if (value === void 0 || value === 0) return otherwise;
  if (!(value > 0)) throw new RangeError(`${name} must be a positive number`);
  return name.startsWith("sendBuffer") ? value : Math.min(value, timerMax);
}
function checkURL(text) {
  let url;
  try {
    url = new URL(text);
  } catch {
  }
  if (url?.protocol !== "ws:" && url?.protocol !== "wss:") throw new TypeError(`url must be ws://host:port or wss://host:port, not "${String(text).slice(0, 200)}"`);
  if (url.pathname === "/") url.pathname = "/websocket";
  url.hash = "";
  return url.href;
}
function checkPayload(payload) {
  const bytes = payload === void 0 ? new Uint8Array(0) : typeof payload === "string" ? encodeText(payload) : payload;
  if (!(bytes instanceof Uint8Array)) throw new TypeError("payload must be text or a Uint8Array");
  if (bytes.length > PAYLOAD_MAX) throw new RangeError(`payload is larger than ${PAYLOAD_MAX} bytes`);
  return bytes;
}

// src/elsewhere.ts
var redirectsMax = 3;
var unreachedMax = 2;
var redirectedMin = 2e3;
var endpointsMax = 1024;
var address = /^(?:[\w.-]+|\[[\da-fA-F:.]+\]):(\d{1,5})$/;
function parseEndpoints(text) {
  const e = {};
  let known = false;
  if (encodeText(text).length > endpointsMax) throw new MalformedError("the addresses are too long");
  for (const one of text.split(/\s+/)) {
    const [, name, addr = ""] = /^(ws|wss|kcp)(?:=(.*))?$/.exec(one) ?? [];
    if (name === void 0) continue;
    const port = Number(address.exec(addr)?.[1] ?? 0);
    if (port < 1 || port > 65535) throw new MalformedError("an address is not host:port");
    known = true;
    if (name !== "kcp") e[name] = addr;
  }
  if (!known) throw new MalformedError("no address");
  return e;
}
function urlAt(e, like) {
  const scheme = like.startsWith("wss:") ? "wss" : "ws";
  const addr = e[scheme];
  if (addr === void 0) {
    const error = new Error(`the host of the game session does not offer ${scheme}`);
    throw new EndedError(new End(0, "", false, error), error.message);
  }
  return checkURL(`${scheme}://${addr}`);
}
function alternatesOf(texts2) {
  const all = [];
  for (const text of texts2) {
    try {
      all.splice(Math.floor(Math.random() * (all.length + 1)), 0, parseEndpoints(text));
    } catch {
    }
  }
  return all;
}
function answered(error) {
  return error instanceof RefusedError || error instanceof EndedError && error.end.code !== 0;
}

// src/events.ts
var Message = class {
  constructor(sender, opCode, targetPlayer, targetGroup, payload) {
    this.sender = sender;
    this.opCode = opCode;
    this.targetPlayer = targetPlayer;
    this.targetGroup = targetGroup;
    this.payload = payload;
  }
  sender;
  opCode;
  targetPlayer;
  targetGroup;
  payload;
  /** The payload as text. */
  get text() {
    return new TextDecoder().decode(this.payload);
  }
};
var Emitter = class {
  handlers = {
    message: /* @__PURE__ */ new Set(),
    membership: /* @__PURE__ */ new Set(),
    detached: /* @__PURE__ */ new Set(),
    reconnected: /* @__PURE__ */ new Set(),
    gap: /* @__PURE__ */ new Set(),
    end: /* @__PURE__ */ new Set()
  };
  add(name, handler) {
    this.of(name).add(handler);
  }
  remove(name, handler) {
    this.of(name).delete(handler);
  }
  of(name) {
    if (!Object.hasOwn(this.handlers, name)) throw new TypeError(`there is no event ${String(name)}`);
    return this.handlers[name];
  }
  emit(name, value) {
    for (const handler of [...this.handlers[name]]) {
      try {
        handler(value);
      } catch (error) {
        report(error);
      }
    }
  }
};
function report(error) {
  const browser = globalThis.reportError;
  if (browser !== void 0) browser(error);
  else queueMicrotask(() => {
    throw error;
  });
}

// src/outbox.ts
var Outbox = class {
  queue = [];
  head = 0;
  /** How many of the queue, from the head on, were written on this connection. */
  written = 0;
  /** Bytes of the packets that are not released. */
  bytes = 0;
  get count() {
    return this.queue.length - this.head;
  }
  add(bytes, number, fast) {
    this.queue.push({ bytes, number, fast, released: false });
    this.bytes += bytes.length;
  }
  /** The first packet that was not written on this connection. */
  peek() {
    for (; this.written < this.count; this.written++) {
      const kept = this.queue[this.head + this.written];
      if (!kept.released) return kept;
    }
    return void 0;
  }
  /** Notes that the packet of `peek` is written. Without a number it need not be kept. */
  wrote(kept) {
    this.written++;
    if (kept.number === 0) this.release(kept);
  }
  /** Releases what is acknowledged, up to a number. */
  trim(number) {
    for (let kept = this.queue[this.head]; kept !== void 0 && kept.number !== 0 && kept.number <= number; kept = this.queue[this.head]) this.release(kept);
  }
  /** Marks all packets as not written, for another connection, and releases the fast ones. */
  rewind() {
    this.written = 0;
    for (const kept of this.queue.slice(this.head)) if (kept.fast && !kept.released) this.release(kept);
  }
  /** The number of the oldest packet that has one, 0 for none. */
  oldest() {
    for (let i = this.head; i < this.queue.length; i++) if (this.queue[i].number !== 0) return this.queue[i].number;
    return 0;
  }
  release(kept) {
    this.bytes -= kept.bytes.length;
    kept.released = true;
    while (this.head < this.queue.length && this.queue[this.head].released) {
      this.head++;
      this.written = Math.max(0, this.written - 1);
    }
    if (this.head > 1024 && 2 * this.head > this.queue.length) {
      this.queue = this.queue.slice(this.head);
      this.head = 0;
    } else if (this.head === this.queue.length) {
      this.queue = [];
      this.head = 0;
    }
  }
};

// src/wire.ts
var nothing = new Uint8Array(0);
function packet(fields) {
  return {
    opCode: 0,
    sequence: 0,
    targetPlayer: 0,
    targetGroup: 0,
    sender: 0,
    reliable: false,
    clientVersion: 0,
    payload: nothing,
    command: Command.none,
    inner: nothing,
    relSeq: 0,
    ack: 0,
    ...fields
  };
}
function encodePacket(p) {
  const w = new Writer();
  w.sint32(1, p.opCode);
  w.int32(2, p.sequence);
  w.int32(3, p.targetPlayer);
  w.int32(4, p.targetGroup);
  w.int32(5, p.sender);
  w.bool(6, p.reliable);
  w.int32(7, p.clientVersion);
  w.bytes(15, p.payload);
  if (p.command !== Command.none) w.message(p.command, p.inner);
  w.uint(1001, p.relSeq);
  w.uint(1002, p.ack);
  return w.written;
}
function unitOf(encoded, ack = 0) {
  const tail = new Writer();
  tail.uint(1002, ack);
  const w = new Writer();
  w.varint(encoded.length + tail.written.length);
  w.raw(encoded);
  w.raw(tail.written);
  return w.written;
}
function decodeUnit(message) {
  let size = 0;
  for (let at = 0; at < 5; at++) {
    const byte = message[at];
    if (byte === void 0) throw new MalformedError("the message ends inside its length");
    size += (byte & 127) * 2 ** (7 * at);
    if (byte < 128) {
      if (size > UNIT_MAX || size > message.length - at - 1) throw new MalformedError("the length is wrong");
      return decodePacket(message.subarray(at + 1, at + 1 + size));
    }
  }
  throw new MalformedError("the length is too long");
}
function decodePacket(bytes) {
  const p = packet({});
  let parts = [];
  const r = new Reader(bytes);
  while (r.next()) {
    if (r.type === Type.varint) setInteger(p, r);
    if (r.type !== Type.bytes) continue;
    if (r.number === 15) p.payload = r.bytes;
    if (!isCommand(r.number)) continue;
    checkInner(r.number, r.bytes);
    if (p.command !== r.number) parts = [];
    p.command = r.number;
    parts.push(r.bytes);
  }
  p.inner = join(parts);
  return p;
}
function join(parts) {
  if (parts.length < 2) return parts[0] ?? nothing;
  const w = new Writer();
  for (const part of parts) w.raw(part);
  return w.written;
}
function setInteger(p, r) {
  switch (r.number) {
    case 1:
      p.opCode = r.sint32;
      break;
    case 2:
      p.sequence = r.int32;
      break;
    case 3:
      p.targetPlayer = r.int32;
      break;
    case 4:
      p.targetGroup = r.int32;
      break;
    case 5:
      p.sender = r.int32;
      break;
    case 6:
      p.reliable = r.bool;
      break;
    case 7:
      p.clientVersion = r.int32;
      break;
    case 1001:
      p.relSeq = r.uint;
      break;
    case 1002:
      p.ack = r.uint;
      break;
  }
}
function isCommand(number) {
  return number >= 30 && number <= 43 && number !== 39;
}
var texts = { [Command.login]: [1, 1002], [Command.loginResult]: [2, 6, 1008, 1009], [Command.verifyIdentity]: [2] };
function checkInner(command, inner) {
  const r = new Reader(inner);
  while (r.next()) {
    if (r.type !== Type.bytes) continue;
    if (texts[command]?.includes(r.number)) decodeText(r.bytes);
    if (command === Command.membershipUpdate && r.number === 2) unpack(r.bytes);
  }
}
function unpack(list) {
  const values = [];
  const r = new Reader(list);
  while (r.more) {
    r.varint();
    values.push(r.int32);
  }
  return values;
}
function encodeLogin(l, payload) {
  const w = new Writer();
  w.text(1, l.playerSessionId);
  w.int32(2, CLIENT_VERSION);
  w.uint(1001, l.caps);
  w.text(1002, l.reconnectToken);
  w.uint(1003, l.lastReceived);
  return unitOf(encodePacket(packet({ opCode: Op.login, targetPlayer: SERVER, reliable: true, payload, command: Command.login, inner: w.written })));
}
function decodeLoginResult(p) {
  if (p.opCode !== Op.loginResponse || p.command !== Command.loginResult) throw new MalformedError(`the host began with op code ${p.opCode}`);
  const result = {
    success: false,
    reconnectToken: "",
    peerId: 0,
    caps: 0,
    lastReceived: 0,
    outcome: 0,
    windowMs: 0,
    base: 0,
    retryAfterMs: 0,
    lost: 0,
    endpoints: "",
    alternates: [],
    over: 0
  };
  const r = new Reader(p.inner);
  while (r.next()) {
    if (r.type === Type.bytes) {
      switch (r.number) {
        case 2:
          result.reconnectToken = decodeText(r.bytes);
          break;
        case 1008:
          result.endpoints = decodeText(r.bytes);
          break;
        case 1009:
          if (result.alternates.length < ALTERNATES_MAX) result.alternates.push(decodeText(r.bytes));
          break;
      }
    }
    if (r.type !== Type.varint) continue;
    switch (r.number) {
      case 1:
        result.success = r.bool;
        break;
      case 3:
        result.peerId = r.int32;
        break;
      case 1001:
        result.caps = r.uint;
        break;
      case 1002:
        result.lastReceived = r.uint;
        break;
      case 1003:
        result.outcome = r.uint;
        break;
      case 1004:
        result.windowMs = r.uint;
        break;
      case 1005:
        result.base = r.uint;
        break;
      case 1006:
        result.retryAfterMs = r.uint;
        break;
      case 1007:
        result.lost = r.uint;
        break;
      case 1010:
        result.over = r.uint;
        break;
    }
  }
  return result;
}
function groupCommand(opCode, command, group) {
  const w = new Writer();
  w.int32(1, group);
  return packet({ opCode, targetPlayer: SERVER, command, inner: w.written });
}
function decodeMembership(p) {
  let group = 0;
  const players = [];
  const r = new Reader(p.inner);
  while (r.next()) {
    if (r.type === Type.varint && r.number === 1) group = r.int32;
    else if (r.type === Type.varint && r.number === 2) players.push(r.int32);
    else if (r.type === Type.bytes && r.number === 2) for (const one of unpack(r.bytes)) players.push(one);
  }
  return { group, players };
}

// src/numbers.ts
var ACKS_MAX = 16;
var ACKS_RIDING_MAX = 64;
var Numbers = class {
  constructor(bytesMax, messagesMax) {
    this.bytesMax = bytesMax;
    this.messagesMax = messagesMax;
  }
  bytesMax;
  messagesMax;
  numbering = "unknown";
  token = "";
  out = new Outbox();
  /** Number of the newest packet, and the highest number that was ever written. */
  last = 0;
  sent = 0;
  /** Highest number received. */
  received = 0;
  /** Messages without a number that the host has lost, by its last answer to a login. */
  dropped = 0;
  // of this connection
  told = 0;
  // highest number acknowledged to the host
  heard = 0;
  // highest number acknowledged by the host
  ackOverdue = false;
  acksRide = false;
  /** Whether both sides number their packets. Otherwise packets are kept until they are written only. */
  get on() {
    return this.numbering === "on";
  }
  /** Bytes of the packets that are kept. */
  get bytes() {
    return this.out.bytes;
  }
  /** Whether there is room for a packet of a size. An empty buffer has room for any one. */
  room(size) {
    return this.out.count === 0 || this.out.count < this.messagesMax && this.out.bytes + size <= this.bytesMax;
  }
  /** Queues a packet, numbered unless it is fast. Returns false, and changes nothing, if there is no room. */
  put(p, fast) {
    p.reliable = !fast || !this.on;
    p.relSeq = this.on && !fast ? this.last + 1 : 0;
    const bytes = encodePacket(p);
    if (!this.room(bytes.length)) return false;
    this.out.add(bytes, p.relSeq, fast);
    this.last = Math.max(this.last, p.relSeq);
    return true;
  }
  /** The next unit to write: a packet, with an ack if it is numbered, or an ack that is due. Again: it was written before, on another connection. */
  next() {
    const kept = this.out.peek();
    if (kept === void 0) {
      if (!this.ackDue) return void 0;
      this.acksRide = false;
      return { unit: unitOf(encodePacket(packet({ reliable: true, ack: this.acknowledge() }))), again: false };
    }
    let ack = 0;
    if (kept.number !== 0) {
      this.acksRide ||= this.ackOpen;
      ack = this.acknowledge();
    }
    const again = kept.number !== 0 && kept.number <= this.sent;
    this.sent = Math.max(this.sent, kept.number);
    this.out.wrote(kept);
    return { unit: unitOf(kept.bytes, ack), again };
  }
  /** Whether everything is written. */
  get idle() {
    return this.out.peek() === void 0 && !this.ackDue;
  }
  /** Whether there is something to acknowledge. */
  get ackOpen() {
    return this.on && this.received > this.told;
  }
  /** Whether it must not wait any longer. */
  get ackDue() {
    return this.ackOpen && (this.ackOverdue || this.received - this.told >= (this.acksRide ? ACKS_RIDING_MAX : ACKS_MAX));
  }
  /** An ack has waited long enough. */
  ackLate() {
    this.ackOverdue = this.ackOpen;
  }
  acknowledge() {
    this.told = this.received;
    this.ackOverdue = false;
    return this.told;
  }
  /**
   * Processes the number and the ack of a received packet, 0 for none. Returns whether the packet is no duplicate.
   * Throws NumbersError for a violation, after which the connection must end.
   */
  take(number, ack) {
    if (!this.on) return true;
    if (ack !== 0) {
      if (ack > this.sent || ack < this.heard) throw new NumbersError(`ack ${ack} after ${this.heard}, of ${this.sent} sent`);
      this.heard = ack;
      this.out.trim(ack);
    }
    if (number === 0) return true;
    if (number <= this.received) return false;
    if (number > this.received + 1) throw new NumbersError(`packet ${number} after ${this.received}`);
    this.received = number;
    return true;
  }
  /** What a login says so that the host resumes the player session. */
  login(playerSessionId) {
    return { playerSessionId, caps: CAP_NUMBERS | CAP_MOVES, reconnectToken: this.token, lastReceived: this.on ? this.received : 0 };
  }
  /** Processes the answer to a login, which had reported `said` as received. An error is final: the player session cannot go on. */
  answer(r, said) {
    const on = (r.caps & CAP_NUMBERS) !== 0;
    const done = { replay: 0, gap: 0 };
    if (this.numbering === "unknown") {
      if (on) {
        this.received = r.base;
        this.last = this.sent = r.lastReceived;
        this.dropped = r.lost;
      }
    } else if (on !== this.on || on && r.outcome === OUTCOME_NEW) {
      throw new NotResumedError();
    } else if (on) {
      if (r.lastReceived > this.sent || r.lastReceived < this.arrived || r.base < said) {
        throw new NumbersError(`login answered with ${r.lastReceived} received of ${this.sent}, and base ${r.base} after ${said}`);
      }
      this.out.trim(r.lastReceived);
      done.replay = this.sent - r.lastReceived;
      done.gap = Math.max(0, r.base - this.received) + Math.max(0, r.lost - this.dropped);
      this.received = Math.max(this.received, r.base);
      this.dropped = Math.max(this.dropped, r.lost);
    }
    this.numbering = on ? "on" : "off";
    this.token = r.reconnectToken;
    this.told = this.heard = 0;
    this.ackOverdue = this.acksRide = false;
    this.out.rewind();
    return done;
  }
  /** Grows when a packet has arrived on either side. */
  get progress() {
    return this.received + this.arrived;
  }
  /** The highest number that is known to have arrived. */
  get arrived() {
    const oldest = this.out.oldest();
    return oldest === 0 ? this.last : oldest - 1;
  }
};

// src/outgoing.ts
function packetOf(m) {
  const { opCode, targetPlayer = 0, targetGroup = 0 } = m;
  checkInt32("opCode", opCode);
  checkInt32("targetPlayer", targetPlayer);
  checkInt32("targetGroup", targetGroup);
  if (targetPlayer === 0 && targetGroup === 0 || targetPlayer < SERVER || targetGroup < ALL_PLAYERS) throw new RangeError("a message needs a target");
  if (isReserved(opCode)) throw new RangeError(`op code ${opCode} belongs to the protocol`);
  if (m.intent !== void 0 && m.intent !== "reliable" && m.intent !== "fast") throw new TypeError("intent must be reliable or fast");
  return packet({ opCode, targetPlayer, targetGroup, payload: checkPayload(m.payload) });
}
function groupPacket(what, group) {
  checkInt32("group", group);
  if (group === 0 || group < (what === "request" ? ALL_PLAYERS : 1)) throw new RangeError(`there is no group ${group} to ${what}`);
  switch (what) {
    case "join":
      return groupCommand(Op.joinGroup, Command.joinGroup, group);
    case "leave":
      return groupCommand(Op.leaveGroup, Command.leaveGroup, group);
    case "request":
      return groupCommand(Op.requestMembership, Command.requestMembership, group);
  }
}
function checkInt32(name, value) {
  if (!Number.isInteger(value) || value !== (value | 0)) throw new RangeError(`${name} must be a whole number of 32 bits`);
}

// src/stats.ts
function noStats() {
  return { sent: 0, sentBytes: 0, received: 0, receivedBytes: 0, malformed: 0, unsent: 0, reconnects: 0, replayed: 0, duplicates: 0, gaps: 0, lost: 0 };
}

// src/client.ts
var ackDelay = 200;
var closeTimeout = 1e3;
var congestedPoll = 10;
var abandonedLoginMax = 1e4;
var probePatience = 2500;
var overheadMax = 64;
async function connect(options) {
  options.signal?.throwIfAborted();
  const client = new Client(settingsOf(options), options.on ?? {});
  await client.begin(options.signal);
  return client;
}
var Client = class {
  /** @internal */
  constructor(o, on) {
    this.o = o;
    this.url = o.url;
    this.numbers = new Numbers(o.sendBufferBytes, o.sendBufferMessages);
    this.comeback = new Comeback(o, this.numbers);
    this.alive = new Alive(o.silenceMaxMs, () => this.ping(), () => this.current?.drop(new SilentError(`the host is silent for ${o.silenceMaxMs} ms`)));
    this.done = new Promise((resolve) => {
      this.finished = resolve;
    });
    for (const [name, handler] of Object.entries(on)) if (handler !== void 0) this.emitter.add(name, handler);
  }
  o;
  emitter = new Emitter();
  numbers;
  alive;
  comeback;
  sleep = new Sleep();
  changed = new Waiters();
  counts = noStats();
  /** The host that is believed to run the game session. */
  url;
  /** Other hosts, which know what became of it. */
  alternates = [];
  peer = 0;
  window = 0;
  current;
  attempts = /* @__PURE__ */ new Set();
  away;
  moves = Promise.resolve();
  moving = false;
  closing = false;
  over;
  abandonedAt = -Infinity;
  ackTimer;
  pumpTimer;
  moveTimer;
  /** What came in before the program could add handlers; undefined later. */
  held = [];
  finished;
  /** Resolves when the client has ended, with how. */
  done;
  /** The player's number in the game session. */
  get peerId() {
    return this.peer;
  }
  /** Whether there is a connection that is not known to be lost. */
  get attached() {
    return this.current !== void 0;
  }
  /** How the client ended; undefined before. */
  get end() {
    return this.over;
  }
  /** Adds a handler and returns a function that removes it. */
  on(name, handler) {
    this.emitter.add(name, handler);
    return () => this.emitter.remove(name, handler);
  }
  /** Removes a handler. */
  off(name, handler) {
    this.emitter.remove(name, handler);
  }
  /**
   * Sends one message. A reliable one is kept until the host has it, also while the connection is lost: it arrives exactly once,
   * or the client ends. Throws BufferFullError if there is no room for it (see `room`), ClosedError after the end, and TypeError
   * or RangeError for a message that the host would drop. A fast message never fails for lack of a connection or of room.
   */
  send(m) {
    this.put(packetOf(m), m.intent === "fast");
  }
  /** Asks to join a group, a positive number. A `membership` event brings the result. */
  joinGroup(group) {
    this.put(groupPacket("join", group), false);
  }
  /** Asks to leave a group. The members that remain get a `membership` event. */
  leaveGroup(group) {
    this.put(groupPacket("leave", group), false);
  }
  /** Asks for the members of a group, which may be ALL_PLAYERS. The answer is a `membership` event. */
  requestMembership(group) {
    this.put(groupPacket("request", group), false);
  }
  /** Resolves when the send buffer has room for a message of any size. Rejects with ClosedError after the end, or with the signal's reason. */
  async room({ signal } = {}) {
    for (; ; ) {
      signal?.throwIfAborted();
      if (this.closing || this.over) throw new ClosedError();
      if (this.numbers.room(PAYLOAD_MAX + overheadMax)) return;
      await this.changed.wait(signal);
    }
  }
  /**
   * Opens a connection to another address of the same host, or of its cluster, and drops the current one when the player is logged in there. No reliable
   * message is lost or comes twice, if the host numbers messages. Later reconnects use the new address. After an error everything is as
   * before, except that the connection may have been lost in the meantime: then the move may take 3 s more.
   */
  async move(url, { signal } = {}) {
    const to = checkURL(url);
    const before = this.moves;
    const move = (async () => {
      await unless(before, signal);
      if (this.closing || this.over) throw new ClosedError();
      if (this.current === void 0) throw new DetachedError();
      this.moving = true;
      try {
        await this.attempt(to, this.o.connectTimeoutMs, signal);
      } finally {
        this.moving = false;
        clearTimeout(this.moveTimer);
        if (this.away !== void 0) this.detach(this.away);
      }
    })();
    this.moves = Promise.allSettled([before, move]);
    await move;
  }
  /**
   * Drops the connection and opens another one at once: for programs that know of a new network. If the host has asked to come later,
   * the client still waits.
   */
  networkChanged() {
    this.outage(0);
  }
  /** Simulates a network outage, for tests: the connection is dropped, and no attempt is made for a time. */
  outage(ms) {
    this.comeback.notBefore = now() + ms;
    for (const attempt of [...this.attempts]) attempt.fail(new DroppedError());
    if (this.current !== void 0) this.current.drop();
    else this.comeback.nudge();
  }
  /** Counts since `connect` or the last `resetStats`. */
  stats() {
    return { ...this.counts };
  }
  /** Returns the counts and sets them to zero. */
  resetStats() {
    const { counts } = this;
    this.counts = noStats();
    return counts;
  }
  /**
   * Sends what is queued, leaves the game session, and resolves when the client has ended, after about two seconds at most.
   * An aborted signal ends the waiting: then the rest is dropped, and it is no error. While the connection is lost, the host cannot be told, and holds the seat,
   * unless it has accepted a new login meanwhile.
   */
  async close({ signal } = {}) {
    if (!this.depart(true)) return this.done;
    const connection = this.current;
    const dropped = () => connection?.drop();
    signal?.addEventListener("abort", dropped, { once: true });
    if (signal?.aborted) dropped();
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      this.changed.wake();
    }, closeTimeout);
    while (this.current === connection && connection !== void 0 && !this.numbers.idle && !late) await this.changed.wait();
    clearTimeout(timer);
    if (this.current === connection && connection !== void 0) {
      connection.leave();
      const end = setTimeout(dropped, closeTimeout);
      await this.done;
      clearTimeout(end);
    } else this.finish(new End(0, "", true));
    signal?.removeEventListener("abort", dropped);
    return this.done;
  }
  /** Drops the connection and ends the client. To the host this is a loss: the player may come back. */
  abort() {
    if (this.over) return;
    this.depart(false);
    if (this.current !== void 0) this.current.drop();
    else this.finish(new End(0, "", true));
  }
  // --- the life of a client ---
  /** @internal */
  async begin(signal) {
    const until = now() + this.o.connectTimeoutMs;
    try {
      for (let n = 0; ; n++) {
        try {
          await this.attempt(this.url, until - now(), signal);
          break;
        } catch (error) {
          const asked = error instanceof RefusedError ? error.retryAfterMs : 0;
          const wait = asked + delayAfter(this.o.reconnect, n, Infinity, 0);
          if (asked === 0 || now() + wait >= until) throw error;
          const woken = () => this.sleep.wake();
          signal?.addEventListener("abort", woken, { once: true });
          await this.sleep.for(wait);
          signal?.removeEventListener("abort", woken);
          signal?.throwIfAborted();
        }
      }
    } catch (error) {
      this.closing = true;
      this.over = new End(0, "", true);
      throw error;
    }
    this.watch("add");
    setTimeout(() => this.letGo(), 0);
  }
  /** Processes what came in before the program could add handlers. */
  letGo() {
    const held = this.held ?? [];
    this.held = void 0;
    for (const step of held) step();
  }
  depart(leave) {
    if (this.closing || this.over) return false;
    this.closing = true;
    for (const attempt of [...this.attempts]) attempt.fail(new ClosedError(), leave);
    this.comeback.stop();
    this.changed.wake();
    return true;
  }
  /** Logs in, and follows redirects to other hosts. When it resolves, the new connection is or was the current one, and its host is that of the game session. */
  async attempt(url, timeout, signal) {
    const until = now() + timeout;
    for (let n = 0; ; n++) {
      try {
        await this.attemptAt(url, until - now(), signal);
        this.url = url;
        return;
      } catch (error) {
        if (!(error instanceof RefusedError) || error.moved === void 0 || n === redirectsMax) throw error;
        url = urlAt(error.moved, url);
      }
    }
  }
  /** Attempt n to come back. If the player's host was out of reach before, other hosts are asked first: they know whether it is lost. */
  async tryAgain(away, n, until) {
    const bound = (n2) => Math.min(attemptMax(this.o.connectTimeoutMs, n2), until - now());
    const said = away.unreached < unreachedMax ? void 0 : await this.askOthers(away, () => bound(0));
    if (said === "attached") return;
    away.attempts++;
    try {
      await this.attempt(said?.moved === void 0 ? this.url : urlAt(said.moved, this.url), bound(said === void 0 ? n : 0));
    } catch (error) {
      away.unreached = answered(error) ? 0 : away.unreached + 1;
      throw said !== void 0 && said.moved === void 0 && !answered(error) ? said : error;
    }
  }
  /** Asks other hosts, one after the other, and returns the refusal of the first one that knows the game session. Throws if it is over. */
  async askOthers(away, bound) {
    for (const other of [...this.alternates]) {
      try {
        const url = urlAt(other, this.url);
        away.attempts++;
        await this.attemptAt(url, bound());
        this.url = url;
        return "attached";
      } catch (error) {
        if (error instanceof DroppedError) throw error;
        if (!(error instanceof RefusedError)) continue;
        if (error.over) throw error;
        if (error.moved !== void 0 || error.retryAfterMs > 0) return error;
      }
    }
    return void 0;
  }
  /** Opens one connection and logs in over it. */
  async attemptAt(url, timeout, signal) {
    if (this.closing || this.over) throw new ClosedError();
    let said = 0;
    const hooks = {
      ask: (connection) => {
        const login = this.numbers.login(this.o.playerSessionId);
        said = login.lastReceived;
        this.write(connection, encodeLogin(login, this.o.payload));
      },
      answer: (attempt2, connection, unit) => this.onLoginAnswer(attempt2, connection, said, unit),
      unit: (connection, unit) => this.later(() => this.onUnit(connection, unit)),
      ended: (connection, end) => this.later(() => this.lost(connection, end))
    };
    const attempt = new Attempt(this.o.WebSocket, url, timeout, signal, hooks);
    this.attempts.add(attempt);
    try {
      await attempt.done;
    } catch (error) {
      if (attempt.asked) this.abandonedAt = now();
      throw error;
    } finally {
      this.attempts.delete(attempt);
    }
  }
  /** Runs a step, or keeps it until the program has had time to add handlers. */
  later(step) {
    if (this.held !== void 0) this.held.push(step);
    else step();
  }
  onLoginAnswer(attempt, connection, said, unit) {
    let result;
    let moved;
    try {
      result = decodeLoginResult(this.read(unit));
      if (!result.success && result.caps !== 0 && result.endpoints !== "") moved = parseEndpoints(result.endpoints);
    } catch (error) {
      throw new EndedError(new End(0, "", false, error), `the host does not answer as one: ${error.message}`);
    }
    if (!result.success) {
      const { caps, outcome, over, retryAfterMs } = result;
      if (caps === 0) throw new RefusedError(retryAfterMs, "");
      const wait = moved === void 0 ? retryAfterMs : Math.max(retryAfterMs, redirectedMin);
      throw new RefusedError(wait, overText(over) || refusal(outcome), over !== 0 || outcome === REFUSED_GAME_ENDED, moved);
    }
    if (this.closing || this.over || attempt.began < this.comeback.notBefore) throw new DroppedError();
    this.attach(connection, result, said);
  }
  /** Makes a connection the current one, and tells the program. */
  attach(connection, r, said) {
    const done = this.numbers.answer(r, said);
    const { current: old, away } = this;
    this.away = void 0;
    this.current = connection;
    this.peer = r.peerId;
    this.window = Math.min(r.windowMs, 2 ** 31 - 1);
    this.alternates = alternatesOf(r.alternates);
    old?.discard();
    this.alive.start();
    this.changed.wake();
    this.pump();
    if (away?.told) {
      this.counts.reconnects++;
      const how = { attempts: away.attempts, afterMs: now() - away.since, replayed: done.replay, lost: done.gap, peerId: r.peerId };
      this.later(() => this.emit("reconnected", how));
    }
    if (done.gap > 0) {
      this.counts.gaps++;
      this.counts.lost += done.gap;
      this.later(() => this.emit("gap", { lost: done.gap }));
    }
  }
  /** The current connection has ended. */
  lost(connection, end) {
    if (this.current !== connection) return;
    this.current = void 0;
    this.alive.stop();
    clearTimeout(this.pumpTimer);
    this.pumpTimer = void 0;
    this.comeback.lost();
    const ours = this.moving || now() - this.abandonedAt < abandonedLoginMax;
    if (ours && end.code === Close.takenOver) end = new End(0, "", false, new DroppedError());
    this.away = { since: now(), end, attempts: 0, unreached: 0, told: false };
    this.changed.wake();
    if (!this.moving || this.closing) this.detach(this.away);
    else {
      this.moveTimer = setTimeout(() => {
        for (const attempt of [...this.attempts]) attempt.fail(new DetachedError());
      }, attemptFirst);
    }
  }
  /** Decides whether to reconnect after a loss, and tells the program. */
  detach(away) {
    if (this.over) return;
    const { end } = away;
    const next = afterLoss(end);
    this.comeback.count();
    const hopeless = this.comeback.hopeless(end);
    if (next.final || hopeless !== void 0 || !this.o.reconnects || this.closing) {
      this.finish(hopeless === void 0 ? end : new End(end.code, end.reason, false, hopeless));
      return;
    }
    away.told = true;
    this.emit("detached", end);
    if (this.away !== away || this.over) return;
    void this.comeback.run(away, this.window, next, (n, until) => this.tryAgain(away, n, until)).then((gaveUp) => {
      if (gaveUp !== void 0) this.finish(new End(end.code, end.reason, false, gaveUp));
    });
  }
  finish(end) {
    if (this.over) return;
    if (this.closing) end = new End(end.code, end.reason, true);
    this.over = end;
    for (const attempt of [...this.attempts]) attempt.fail(new ClosedError());
    this.comeback.stop();
    this.alive.stop();
    clearTimeout(this.ackTimer);
    clearTimeout(this.pumpTimer);
    this.watch("remove");
    this.changed.wake();
    this.finished(end);
    this.emitter.emit("end", end);
  }
  // --- packets ---
  put(p, fast) {
    if (this.closing || this.over) throw new ClosedError();
    p.sender = this.peer;
    if (fast && !this.current?.writable || !this.numbers.put(p, fast)) {
      if (!fast) throw new BufferFullError();
      this.counts.unsent++;
      return;
    }
    this.pump();
  }
  /** Writes what is queued, as much as the WebSocket takes. */
  pump() {
    const { current } = this;
    while (current !== void 0 && this.current === current && !this.numbers.idle) {
      if (!current.writable) {
        this.pumpTimer ??= setTimeout(() => {
          this.pumpTimer = void 0;
          this.pump();
        }, congestedPoll);
        return;
      }
      const next = this.numbers.next();
      if (next === void 0) break;
      if (next.again) this.counts.replayed++;
      this.write(current, next.unit);
    }
    this.scheduleAck();
    if (!this.numbers.on || this.closing) this.changed.wake();
  }
  scheduleAck() {
    if (!this.numbers.ackOpen || this.ackTimer !== void 0 || this.over) return;
    this.ackTimer = setTimeout(() => {
      this.ackTimer = void 0;
      this.numbers.ackLate();
      this.pump();
    }, ackDelay);
  }
  write(connection, unit) {
    this.counts.sent++;
    this.counts.sentBytes += unit.length;
    connection.send(unit);
  }
  read(unit) {
    this.counts.received++;
    this.counts.receivedBytes += unit?.length ?? 0;
    return decodeUnit(unit ?? new Uint8Array(0));
  }
  onUnit(connection, unit) {
    if (this.current !== connection) return;
    this.alive.heard();
    let p;
    try {
      p = this.read(unit);
    } catch {
      this.counts.malformed++;
      return;
    }
    let fresh;
    try {
      fresh = this.numbers.take(p.relSeq, p.ack);
    } catch (error) {
      connection.drop(error);
      return;
    }
    if (p.ack !== 0) this.changed.wake();
    if (fresh) this.onPacket(p);
    else this.counts.duplicates++;
    this.pump();
  }
  onPacket(p) {
    switch (p.opCode) {
      case Op.loginResponse:
      case Op.pingResult:
      case Op.serverAck:
      case Op.verifyIdentityResponse:
        return;
      case Op.membershipUpdate:
        this.emit("membership", { ...decodeMembership(p), sender: p.sender });
        return;
    }
    const pureAck = this.numbers.on && p.relSeq === 0 && p.opCode === 0 && p.sender === 0;
    if (!pureAck) this.emit("message", new Message(p.sender, p.opCode, p.targetPlayer, p.targetGroup, p.payload));
  }
  emit(name, value) {
    if (!this.closing && !this.over) this.emitter.emit(name, value);
  }
  // --- a sign of life ---
  /** A ping has no number, and so, where packets are numbered, must not claim to be reliable. */
  ping() {
    const { current } = this;
    if (current === void 0) return;
    const p = packet({ opCode: Op.ping, targetPlayer: SERVER, sender: this.peer, reliable: !this.numbers.on, command: Command.ping });
    this.write(current, unitOf(encodePacket(p)));
  }
  /** Looks after the connection: a browser says that there is a network again, or shows the page again. */
  look = () => {
    if (typeof document !== "undefined" && document.visibilityState === "hidden") return;
    if (this.current === void 0) this.comeback.nudge();
    else this.alive.probe(probePatience);
  };
  watch(how) {
    if (!this.o.watchNetwork || typeof document === "undefined" || typeof window === "undefined") return;
    if (how === "add") {
      window.addEventListener("online", this.look);
      document.addEventListener("visibilitychange", this.look);
    } else {
      window.removeEventListener("online", this.look);
      document.removeEventListener("visibilitychange", this.look);
    }
  }
};
export {
  ALL_PLAYERS,
  BufferFullError,
  Client,
  ClosedError,
  DetachedError,
  DroppedError,
  End,
  EndedError,
  GaveUpError,
  Message,
  NotResumedError,
  NumbersError,
  PAYLOAD_MAX,
  RefusedError,
  SERVER,
  SilentError,
  TimeoutError,
  connect
};
