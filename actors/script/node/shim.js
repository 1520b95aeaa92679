'use strict';
// Carries actors/script/realtime/realtime.js between the host and Node: frames (frame.go)
// to calls. What a script sees of the game is realtime.js's alone. own.js and contexts.js
// load scripts: the one of a process for one game session, and one for each of many.

const util = require('util'), path = require('path'), timers = require('timers');
const pipe = load('pipe');
const { begin, u8, u32, i32, rest, end } = pipe;

const TO = { load: 1, confirm: 2, call: 3, end: 4 };
const FROM = {
  loaded: 2, failed: 3, answer: 4, exports: 5, send: 6, members: 7, kick: 8, ending: 9, exit: 10, crash: 11, log: 12,
  slow: 13, erred: 14, backfill: 15,
};
const CALLBACKS = [
  '', 'onProcessStarted', 'onStartGameSession', 'onHealthCheck', 'onProcessTerminate', 'onPlayerConnect', 'onPlayerAccepted',
  'onPlayerDetached', 'onPlayerReconnected', 'onPlayerDisconnect', 'onMessage', 'onSendToPlayer', 'onSendToGroup',
  'onPlayerJoinGroup', 'onPlayerLeaveGroup', 'onUpdateGameSession',
];
const ERRED_IN_CALLBACK = 1, ERRED_OUTSIDE = 2;
const FLUSH_MS = 1;
const LOG_MAX = 64 << 10;          // characters of a line
const FILE_MAX = 1000;             // of the name of its file
const BRIEF_MAX = 1000;            // and of a reason
const PAYLOAD_CUT = 65536 + 1;     // the host refuses payloads over 65536 bytes, and says so
const LOCAL_GAME = '/local/game', LOCAL_METADATA = '/local/gamemetadata';

const setImmediate = timers.setImmediate, now = performance.now.bind(performance);
const LEVELS = load('realtime').LEVELS;

// What the host sends.

let home = null;       // own.js or contexts.js
let waiting = 0;       // frames that have come and are not handled
let calling = null;    // what is handled: { game, what, began, answers }, until its promise jobs have run
const games = new Map();

exports.games = games;
exports.now = now;
exports.LOG_MAX = LOG_MAX;

function frame(bytes) {
  waiting++;
  pipe.hold();
  // Tasks of their own: ticks and promise jobs run between them (realtime.md 18.2),
  // and what the script puts off until later comes after them.
  setImmediate(handle, bytes);
  if (bytes[4] === TO.load) setImmediate(init, bytes.readUInt32LE(0));
}

function handle(bytes) {
  settle();
  const number = bytes.readUInt32LE(0), kind = bytes[4];
  calling = { game: null, what: '', began: now(), answers: [] };
  if (kind === TO.load) games.set(number, new Game(number, JSON.parse(bytes.toString('utf8', 5))));
  const game = calling.game = games.get(number);
  if (!game) return; // a confirmation, or a game session that has ended
  switch (kind) {
    case TO.load: game.load(); break;
    case TO.call: calling.what = game.call(bytes); break;
    case TO.end: game.end(); break;
  }
}

function init(number) {
  const game = games.get(number);
  if (game) game.init();
}

// settle comes when the promise jobs of what was handled have run: what they do comes
// before what an answer lets happen, as in the embedded engine.
function settle() {
  if (calling === null) return;
  const { game, what, began, answers } = calling, took = now() - began;
  calling = null;
  waiting--;
  if (game && !game.over) game.settle(what, took, answers);
  pipe.settled(waiting === 0, took >= FLUSH_MS);
}

exports.Game = Game;
function Game(number, options) {
  this.number = number;
  this.options = options;
  this.over = false;      // the host is not told anything any more
  this.exported = 0;      // what the host was told of the callbacks
  this.ssExports = null;
  this.opened = null;     // the script's callbacks, until init is called
  this.configured = null; // the configuration, from then until the host has it
  this.ending = 0;        // the id of the call of onProcessTerminate
  this.unfinished = [];   // each writes what a stream was given and is no line yet
}

Game.prototype = {
  // frame sends a frame of numbers and one text.
  frame(kind, numbers, text) {
    if (this.over) return;
    const bytes = text === undefined ? [] : Buffer.from(text);
    begin(this.number, kind, numbers.length * 4 + bytes.length);
    numbers.forEach(i32);
    rest(bytes);
    end();
  },

  settle(what, took, answers) {
    if (what) this.slow(what, took);
    this.loaded();
    if (this.ssExports) this.announce();
    for (let i = 0; i < answers.length; i++) this.answer(answers[i].id, answers[i].ok);
  },

  call(bytes) {
    const r = new pipe.Reader(bytes, 5, this.realm.Uint8Array), parse = this.realm.JSON.parse, glue = this.glue;
    const id = r.u32(), name = CALLBACKS[r.u8()];
    let result;
    switch (name) {
      case 'onProcessStarted': result = glue.onProcessStarted(id, parse(r.restText())); break;
      case 'onHealthCheck': result = glue.onHealthCheck(id); break;
      case 'onPlayerConnect': result = glue.onPlayerConnect(id, r.i32(), r.text(), r.text(), r.text(), r.rest()); break;
      case 'onStartGameSession': result = glue.onStartGameSession(parse(r.restText())); break;
      case 'onProcessTerminate': this.ending = id; result = glue.onProcessTerminate(id); break;
      case 'onPlayerAccepted': glue.onPlayerAccepted(r.i32(), r.text(), r.text(), r.text()); break;
      case 'onPlayerDetached': result = glue.onPlayerDetached(r.i32(), r.restText()); break;
      case 'onUpdateGameSession': glue.onUpdateGameSession(...parse(r.restText())); break;
      case 'onPlayerReconnected': glue.onPlayerReconnected(r.i32(), parse(r.restText())); break;
      case 'onPlayerDisconnect': glue.onPlayerDisconnect(r.i32()); result = true; break;
      case 'onMessage': case 'onSendToPlayer': case 'onSendToGroup':
        result = glue[name](r.i32(), r.i32(), r.i32(), r.i32(), r.u8() === 1, r.rest());
        break;
      case 'onPlayerJoinGroup': case 'onPlayerLeaveGroup': result = glue[name](r.i32(), r.i32()); break;
    }
    if (id !== 0 && result !== undefined) this.decided(id, result);
    return name;
  },

  decided(id, ok) {
    if (calling && calling.game === this) calling.answers.push({ id: id, ok: ok });
    else this.answer(id, ok);
  },

  answer(id, ok) {
    if (this.over) return;
    if (id === this.ending) this.finish(); // the host ends this game session without a word
    begin(this.number, FROM.answer, 5);
    u32(id);
    u8(ok !== false && ok ? 1 : 0);
    end();
  },

  finish() { this.unfinished.forEach(f => f()); },

  exportsNow() {
    let set = 0;
    try {
      for (let i = 1; i < CALLBACKS.length; i++) if (typeof this.ssExports[CALLBACKS[i]] === 'function') set |= 1 << i;
    } catch (error) { /* a getter that throws; the call will say so */ set = -1; }
    return set >>> 0;
  },

  // announce tells the host when callbacks have come or gone: it asks only those that exist.
  announce() {
    const set = this.exportsNow();
    if (set === this.exported) return;
    this.exported = set;
    this.frame(FROM.exports, [set]);
  },

  slow(what, took) {
    if (this.options.tickMs > 0 && took > this.options.tickMs) this.frame(FROM.slow, [Math.round(took)], what);
  },

  log(level, text, file, row) {
    if (this.over) return;
    if (file === undefined) [file, row] = position();
    text = String(text);
    if (text.length > LOG_MAX) text = text.slice(0, LOG_MAX) + ' ...';
    const bytes = Buffer.from(this.there(text)), name = Buffer.from((file || 'script').slice(0, FILE_MAX));
    begin(this.number, FROM.log, 9 + name.length + bytes.length);
    u8(level);
    u32(row || 0);
    u32(name.length);
    rest(name);
    rest(bytes);
    end();
  },

  // there names files as the original has them.
  there(text) { return text.split(this.options.game).join(LOCAL_GAME).split(this.options.metadata).join(LOCAL_METADATA); },

  // brief is an error in one line.
  brief(error) {
    try {
      return this.there(String(error)).split('\n')[0].slice(0, BRIEF_MAX);
    } catch (another) {
      return '(cannot be printed)';
    }
  },

  // host is the host of realtime.js.
  host() {
    const game = this, Bytes = this.realm.Uint8Array;
    return {
      logLevel: this.options.logLevel,
      log: (level, text, file, row) => game.log(level, text, file, row),
      format: args => util.format.apply(util, args),
      utf8(text) {
        const bytes = encoder.encode(text);
        return Bytes === Uint8Array ? bytes : new Bytes(bytes.buffer, bytes.byteOffset, bytes.length);
      },
      text: bytes => !ArrayBuffer.isView(bytes) ? '' : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'),
      send(how, opCode, sender, payload, target) {
        if (!ArrayBuffer.isView(payload)) throw new TypeError('the payload is not a Uint8Array');
        if (game.over) return;
        if (payload.length > PAYLOAD_CUT) payload = payload.subarray(0, PAYLOAD_CUT);
        begin(game.number, FROM.send, 13 + payload.length);
        u8(how);
        i32(opCode);
        i32(sender);
        i32(target);
        rest(payload);
        end();
      },
      broadcastGroupMembershipUpdate: (group, target) => game.frame(FROM.members, [group, target]),
      kick: (peer, reason) => game.frame(FROM.kick, [peer], reason.slice(0, LOG_MAX)),
      backfill: start => game.frame(FROM.backfill, [start ? 1 : 0]),
      processEnding: () => game.frame(FROM.ending, []),
      decided: (id, ok) => game.decided(id, ok),
      failed: () => game.erred(ERRED_IN_CALLBACK),
    };
  },

  // A start is open, init and loaded, with the promise jobs of each behind it.

  load() {
    this.realm = home.enter(this);
    this.glue = this.realm.realtime.create(this.host());
    home.load(this);
  },

  notLoaded(error) {
    const what = 'Error in ' + path.basename(this.options.entry), stack = util.types.isNativeError(error) && error.name === 'SyntaxError' ? String(error.stack) : '';
    const where = /^[^\n]*?([^\n/\\]+):(\d+)\n/.exec(stack); // of what Node cannot parse
    if (where) this.log(LEVELS.error, what + ': ' + stack.replace(/\n +at [^\n]*/g, ''), where[1], Number(where[2]));
    else this.glue.report(LEVELS.error, what, error);
    this.frame(FROM.failed, [], 'load ' + path.basename(this.options.entry) + ': ' + this.brief(error));
  },

  open(module) {
    const given = module && (module.ssExports || (module.default && module.default.ssExports));
    const wrong = this.glue.load(given);
    if (wrong) this.frame(FROM.failed, [], wrong);
    else this.opened = given;
  },

  init() {
    if (!this.opened) return; // it failed, or is not there yet
    const given = this.opened, conf = this.glue.configuration(), failed = this.glue.init();
    this.opened = null;
    if (failed) {
      this.frame(FROM.failed, [], failed);
      return;
    }
    this.ssExports = given;
    this.configured = conf;
  },

  loaded() {
    if (!this.configured) return;
    this.exported = this.exportsNow();
    this.frame(FROM.loaded, [this.exported], JSON.stringify(this.configured));
    this.configured = null;
  },

  // Errors outside of callbacks (realtime.md 18.3).

  erred(where) {
    if (this.over) return;
    begin(this.number, FROM.erred, 1);
    u8(where);
    end();
  },

  uncaught(what, error) {
    if (this.over) return; // or it is what ended a call after process.exit
    this.erred(ERRED_OUTSIDE);
    if (this.glue) this.glue.report(LEVELS.error, what, error);
    else this.log(LEVELS.error, what + ': ' + util.inspect(error), 'shim', 0); // of these files
    if (this.options.keepRunning) return;
    this.finish();
    this.frame(FROM.crash, [], what + ': ' + this.brief(error));
    home.leave(this, 1);
  },

  rejected(reason) {
    if (this.options.nodeVersion !== '10.x') return this.uncaught('Unhandled promise rejection', reason);
    this.erred(ERRED_OUTSIDE);
    this.glue.report(LEVELS.warn, 'Unhandled promise rejection', reason);
  },

  // exit tells the host that the script has called process.exit.
  exit(code) {
    this.finish();
    this.frame(FROM.exit, [code]);
  },

  // end forgets the game session, which has ended.
  end() {
    this.over = true;
    games.delete(this.number);
    home.ended(this);
  },
};

const encoder = new TextEncoder();

function position() {
  const limit = Error.stackTraceLimit, holder = {};
  Error.stackTraceLimit = 20;
  Error.captureStackTrace(holder);
  Error.stackTraceLimit = limit;
  if (typeof holder.stack !== 'string') return ['', 0]; // the script has its own idea of stacks
  for (const line of holder.stack.split('\n')) {
    const found = /^\s*at (?!.*(?:troupe:|node:)).*?([^\s()/\\]+):(\d+):\d+\)?$/.exec(line);
    if (found) return [found[1], Number(found[2])];
  }
  return ['', 0];
}

exports.run = function run(with_, importer) {
  home = with_;
  home.begin(exports, importer);
  pipe.listen(frame, () => setImmediate(settle));
};
