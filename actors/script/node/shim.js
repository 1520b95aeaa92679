'use strict';
// Carries actors/script/realtime/realtime.js between the host and Node: frames (frame.go)
// to calls, and what Node has otherwise than the original. What a script sees of the
// game is realtime.js's alone.

const fs = require('fs'), net = require('net'), path = require('path'), util = require('util'), timers = require('timers');
const Module = require('module'), url = require('url'), childProcess = require('child_process');

const TO = { load: 1, confirm: 2, call: 3 };
const FROM = {
  ack: 1, loaded: 2, failed: 3, answer: 4, exports: 5, send: 6, members: 7, kick: 8, ending: 9, exit: 10, crash: 11, log: 12,
  slow: 13, erred: 14, backfill: 15,
};
const CALLBACKS = [
  '', 'onProcessStarted', 'onStartGameSession', 'onHealthCheck', 'onProcessTerminate', 'onPlayerConnect', 'onPlayerAccepted',
  'onPlayerDetached', 'onPlayerReconnected', 'onPlayerDisconnect', 'onMessage', 'onSendToPlayer', 'onSendToGroup',
  'onPlayerJoinGroup', 'onPlayerLeaveGroup', 'onUpdateGameSession',
];
const ERRED_IN_CALLBACK = 1, ERRED_OUTSIDE = 2;
const IN = 3, OUT = 4;
const FRAME_MAX = 1 << 20;
const FLUSH_BYTES = 16 << 10, FLUSH_MS = 1;
const LOG_MAX = 64 << 10;          // characters of a line
const FILE_MAX = 1000;             // of the name of its file
const BRIEF_MAX = 1000;            // and of a reason
const TIMERS_SWEEP = 256;          // at so many timers, those that are over are forgotten
const PAYLOAD_CUT = 65536 + 1;     // the host refuses payloads over 65536 bytes, and says so
const LOCAL_GAME = '/local/game', LOCAL_METADATA = '/local/gamemetadata';

const really = process.reallyExit;
const setImmediate = timers.setImmediate, now = performance.now.bind(performance);

// Frames to the host are gathered while one call of the script runs, and the calls
// that wait behind it, and written at once, synchronously: when process.exit comes,
// they are out.

let out = Buffer.allocUnsafe(FLUSH_BYTES * 2);
let used = 0, at = 0;
let scheduled = false;

function room(n) {
  if (used + n <= out.length) return;
  const larger = Buffer.allocUnsafe(Math.max(out.length * 2, used + n));
  out.copy(larger, 0, 0, used);
  out = larger;
}

function begin(kind, size) {
  room(size + 5);
  at = used;
  used += 4;
  out[used++] = kind;
}
function u8(v) { out[used++] = v; }
function u32(v) { used = out.writeUInt32LE(v >>> 0, used); }
function i32(v) { used = out.writeInt32LE(v | 0, used); }
function rest(bytes) {
  out.set(bytes, used);
  used += bytes.length;
}
function end() {
  out.writeUInt32LE(used - at - 4, at);
  if (used >= FLUSH_BYTES) flush();
  else schedule();
}

// frame sends a frame of numbers and one text.
function frame(kind, numbers, text) {
  const bytes = text === undefined ? [] : Buffer.from(text);
  begin(kind, numbers.length * 4 + bytes.length);
  numbers.forEach(i32);
  rest(bytes);
  end();
}

// schedule has what was gathered written when the script is through.
function schedule() {
  if (scheduled || waiting > 0) return; // the last call that waits will do it
  scheduled = true;
  queueMicrotask(flush);
}

const cell = new Int32Array(new SharedArrayBuffer(4));

function flush() {
  scheduled = false;
  let from = 0;
  while (from < used) {
    try {
      from += fs.writeSync(OUT, out, from, used - from);
    } catch (error) {
      if (error.code !== 'EAGAIN') really.call(process, 1); // nobody is there any more
      Atomics.wait(cell, 0, 0, 1);
    }
  }
  used = 0;
  if (out.length > FLUSH_BYTES * 4) out = Buffer.allocUnsafe(FLUSH_BYTES * 2);
}

// What the host sends.

let glue = null, options = null, ssExports = null;
let exported = 0;      // what the host was told of the callbacks
let handled = 0;       // frames since the last ack
let waiting = 0;       // frames that have come and are not handled
let calling = null;    // what is handled: { what, began, answers }, until its promise jobs have run
let ending = 0;        // the id of the call of onProcessTerminate

class Reader {
  constructor(bytes) { this.b = bytes; this.at = 0; }
  u8() { return this.b[this.at++]; }
  u32() { const v = this.b.readUInt32LE(this.at); this.at += 4; return v; }
  i32() { const v = this.b.readInt32LE(this.at); this.at += 4; return v; }
  text() { const n = this.u32(), v = this.b.toString('utf8', this.at, this.at + n); this.at += n; return v; }
  restText() { return this.b.toString('utf8', this.at); }
  rest() {
    const copy = new Uint8Array(this.b.length - this.at);
    copy.set(this.b.subarray(this.at));
    return copy;
  }
}

function listen() {
  const socket = new net.Socket({ fd: IN, readable: true, writable: false });
  let held = null; // the front of a frame
  socket.on('data', chunk => {
    if (held) chunk = Buffer.concat([held, chunk]);
    let from = 0;
    while (chunk.length - from >= 4) {
      const n = chunk.readUInt32LE(from);
      if (chunk.length - from < 4 + n) break;
      waiting++;
      // Tasks of their own: ticks and promise jobs run between them (realtime.md 18.2),
      // and what the script puts off until later comes after them.
      const bytes = chunk.subarray(from + 4, from + 4 + n);
      setImmediate(handle, bytes);
      if (bytes[0] === TO.load) setImmediate(init);
      setImmediate(settled);
      from += 4 + n;
    }
    held = from < chunk.length ? chunk.subarray(from) : null;
  });
  socket.on('close', () => really.call(process, 1)); // the host is gone
  socket.on('error', () => really.call(process, 1));
}

function handle(bytes) {
  calling = { what: '', began: now(), answers: [] };
  const r = new Reader(bytes);
  switch (r.u8()) {
    case TO.load: load(JSON.parse(r.restText())); break;
    case TO.call: calling.what = call(r); break;
  }
}

// settled comes when the promise jobs of what was handled have run: what they do comes
// before what an answer lets happen, as in the embedded engine.
function settled() {
  const { what, began, answers } = calling, took = now() - began;
  calling = null;
  waiting--;
  handled++;
  if (what) slow(what, took);
  loaded();
  if (ssExports) announce();
  answers.forEach(a => answer(a.id, a.ok));
  if (waiting === 0 || took >= FLUSH_MS) {
    frame(FROM.ack, [handled]);
    handled = 0;
    flush();
  }
}

function call(r) {
  const id = r.u32(), name = CALLBACKS[r.u8()];
  let result;
  switch (name) {
    case 'onProcessStarted': result = glue.onProcessStarted(id, JSON.parse(r.restText())); break;
    case 'onHealthCheck': result = glue.onHealthCheck(id); break;
    case 'onPlayerConnect': result = glue.onPlayerConnect(id, r.i32(), r.text(), r.text(), r.text(), r.rest()); break;
    case 'onStartGameSession': result = glue.onStartGameSession(JSON.parse(r.restText())); break;
    case 'onProcessTerminate': ending = id; result = glue.onProcessTerminate(id); break;
    case 'onPlayerAccepted': glue.onPlayerAccepted(r.i32(), r.text(), r.text(), r.text()); break;
    case 'onPlayerDetached': result = glue.onPlayerDetached(r.i32(), r.restText()); break;
    case 'onUpdateGameSession': glue.onUpdateGameSession(...JSON.parse(r.restText())); break;
    case 'onPlayerReconnected': glue.onPlayerReconnected(r.i32(), JSON.parse(r.restText())); break;
    case 'onPlayerDisconnect': glue.onPlayerDisconnect(r.i32()); result = true; break;
    case 'onMessage': case 'onSendToPlayer': case 'onSendToGroup':
      result = glue[name](r.i32(), r.i32(), r.i32(), r.i32(), r.u8() === 1, r.rest());
      break;
    case 'onPlayerJoinGroup': case 'onPlayerLeaveGroup': result = glue[name](r.i32(), r.i32()); break;
  }
  if (id !== 0 && result !== undefined) decided(id, result);
  return name;
}

function decided(id, ok) {
  if (calling) calling.answers.push({ id: id, ok: ok });
  else answer(id, ok);
}

function answer(id, ok) {
  if (id === ending) unfinished.forEach(f => f()); // the host ends this process without a word
  begin(FROM.answer, 5);
  u32(id);
  u8(ok !== false && ok ? 1 : 0);
  end();
}

function exportsNow() {
  let set = 0;
  try {
    for (let i = 1; i < CALLBACKS.length; i++) if (typeof ssExports[CALLBACKS[i]] === 'function') set |= 1 << i;
  } catch (error) { /* a getter that throws; the call will say so */ set = -1; }
  return set >>> 0;
}

// announce tells the host when callbacks have come or gone: it asks only those that exist.
function announce() {
  const set = exportsNow();
  if (set === exported) return;
  exported = set;
  frame(FROM.exports, [set]);
}

function slow(what, took) {
  if (options.tickMs > 0 && took > options.tickMs) frame(FROM.slow, [Math.round(took)], what);
}

// The host of realtime.js.

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

function log(level, text, file, row) {
  if (file === undefined) [file, row] = position();
  text = String(text);
  if (text.length > LOG_MAX) text = text.slice(0, LOG_MAX) + ' ...';
  const bytes = Buffer.from(there(text)), name = Buffer.from((file || 'script').slice(0, FILE_MAX));
  begin(FROM.log, 9 + name.length + bytes.length);
  u8(level);
  u32(row || 0);
  u32(name.length);
  rest(name);
  rest(bytes);
  end();
}

// there names files as the original has them.
function there(text) { return text.split(options.game).join(LOCAL_GAME).split(options.metadata).join(LOCAL_METADATA); }

// brief is an error in one line.
function brief(error) {
  try {
    return there(String(error)).split('\n')[0].slice(0, BRIEF_MAX);
  } catch (another) {
    return '(cannot be printed)';
  }
}

const encoder = new TextEncoder();

function makeHost() {
  return {
    logLevel: options.logLevel,
    log: log,
    format: args => util.format.apply(util, args),
    utf8: text => encoder.encode(text),
    text: bytes => !ArrayBuffer.isView(bytes) ? '' : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'),
    send(how, opCode, sender, payload, target) {
      if (!ArrayBuffer.isView(payload)) throw new TypeError('the payload is not a Uint8Array');
      if (payload.length > PAYLOAD_CUT) payload = payload.subarray(0, PAYLOAD_CUT);
      begin(FROM.send, 13 + payload.length);
      u8(how);
      i32(opCode);
      i32(sender);
      i32(target);
      rest(payload);
      end();
    },
    broadcastGroupMembershipUpdate: (group, target) => frame(FROM.members, [group, target]),
    kick: (peer, reason) => frame(FROM.kick, [peer], reason.slice(0, LOG_MAX)),
    backfill: start => frame(FROM.backfill, [start ? 1 : 0]),
    processEnding: () => frame(FROM.ending, []),
    decided: decided,
    failed: () => erred(ERRED_IN_CALLBACK),
  };
}

// Loading.

function load(o) {
  options = o;
  glue = realtime.create(makeHost());
  process.argv.splice(1, process.argv.length, o.entry, ...o.args);
  adapt();
  let module;
  try {
    module = requireMain(o.entry);
  } catch (error) {
    if (error && (error.code === 'ERR_REQUIRE_ESM' || error.code === 'ERR_REQUIRE_ASYNC_MODULE')) {
      importFile(url.pathToFileURL(o.entry).href).then(module => {
        open(module);
        process.nextTick(init); // when promise jobs have run
        setImmediate(loaded);
      }, notLoaded);
    } else {
      notLoaded(error);
    }
    return;
  }
  open(module);
}

// requireMain loads the entry as the main module; Module._load can do so too, but not
// tell what an ES module exports.
function requireMain(entry) {
  const load = Module.prototype.load;
  Module.prototype.load = function () {
    Module.prototype.load = load;
    process.mainModule = this;
    this.id = '.';
    this.parent = null;
    return load.apply(this, arguments);
  };
  return Module.createRequire(entry)(entry);
}

function notLoaded(error) {
  const what = 'Error in ' + path.basename(options.entry), stack = error instanceof SyntaxError ? String(error.stack) : '';
  const where = /^[^\n]*?([^\n/\\]+):(\d+)\n/.exec(stack); // of what Node cannot parse
  if (where) log(realtime.LEVELS.error, what + ': ' + stack.replace(/\n +at [^\n]*/g, ''), where[1], Number(where[2]));
  else glue.report(realtime.LEVELS.error, what, error);
  frame(FROM.failed, [], 'load ' + path.basename(options.entry) + ': ' + brief(error));
}

// A start is open, init and loaded, with the promise jobs of each behind it.

let opened = null;     // the script's callbacks, until init is called
let configured = null; // the configuration, from then until the host has it

function open(module) {
  const given = module && (module.ssExports || (module.default && module.default.ssExports));
  const wrong = glue.load(given);
  if (wrong) frame(FROM.failed, [], wrong);
  else opened = given;
}

function init() {
  if (!opened) return; // it failed, or is not there yet
  const given = opened, conf = glue.configuration(), failed = glue.init();
  opened = null;
  if (failed) {
    frame(FROM.failed, [], failed);
    return;
  }
  ssExports = given;
  configured = conf;
}

function loaded() {
  if (!configured) return;
  exported = exportsNow();
  frame(FROM.loaded, [exported], JSON.stringify(configured));
  configured = null;
}

// Errors outside of callbacks (realtime.md 18.3).

function erred(where) {
  begin(FROM.erred, 1);
  u8(where);
  end();
}

function uncaught(what, error) {
  erred(ERRED_OUTSIDE);
  if (!glue) return fatal(what + ': ' + error); // of the shim itself
  glue.report(realtime.LEVELS.error, what, error);
  if (!options.keepRunning) fatal(what + ': ' + brief(error));
}

function fatal(text) {
  unfinished.forEach(f => f());
  frame(FROM.crash, [], text);
  flush();
  really.call(process, 1);
}

// others reports whether the script itself listens to an event that the shim listens to.
function others(event) { return process.listenerCount(event) > 1; }

function watchErrors() {
  const listeners = {
    uncaughtException(error) {
      if (!others('uncaughtException')) uncaught('Uncaught error', error);
    },
    unhandledRejection(reason) {
      if (others('unhandledRejection')) return;
      if (options && options.nodeVersion === '10.x') {
        erred(ERRED_OUTSIDE);
        glue.report(realtime.LEVELS.warn, 'Unhandled promise rejection', reason);
      } else if (others('uncaughtException')) {
        process.emit('uncaughtException', reason, 'unhandledRejection');
      } else {
        uncaught('Unhandled promise rejection', reason);
      }
    },
    warning(warning) {
      if (glue) glue.report(realtime.LEVELS.warn, 'Warning', warning);
    },
  };
  const add = () => Object.keys(listeners).forEach(event => {
    if (process.listeners(event).indexOf(listeners[event]) < 0) process.on(event, listeners[event]);
  });
  add();
  const removeAll = process.removeAllListeners;
  process.removeAllListeners = function removeAllListeners() {
    removeAll.apply(this, arguments);
    add(); // a script means its own
    return this;
  };
  process.reallyExit = function reallyExit(code) {
    unfinished.forEach(f => f());
    frame(FROM.exit, [code]);
    flush();
    really.call(process, code);
  };
}

// What Node has otherwise than the original.

function adapt() {
  adaptConsole();
  adaptPaths();
  adaptTimers();
  try {
    new Buffer.from('');
  } catch (error) { // not a constructor: published scripts use it as one (realtime.md 15.1)
    const from = Buffer.from;
    Buffer.from = function () { return from.apply(Buffer, arguments); };
  }
  // Processes of the script end with it, whatever it wants.
  const spawn = childProcess.ChildProcess.prototype.spawn;
  childProcess.ChildProcess.prototype.spawn = function (o) {
    if (o) o.detached = false;
    return spawn.apply(this, arguments);
  };
  ['spawnSync', 'execFileSync', 'execSync'].forEach(name => {
    const original = childProcess[name];
    childProcess[name] = function (...args) {
      return original.apply(this, args.map(o => o && o.detached ? Object.assign({}, o, { detached: false }) : o));
    };
  });
  Module.syncBuiltinESMExports(); // for import { spawnSync }
}

// adaptConsole has what the script prints written to the log from where it is printed;
// what others print comes through the pipes.
function adaptConsole() {
  const L = realtime.LEVELS;
  const levels = {
    log: L.info, info: L.info, debug: L.debug, warn: L.warn, error: L.error, assert: L.warn, count: L.info, dir: L.info, dirxml: L.info, group: L.info, groupCollapsed: L.info, table: L.info, timeEnd: L.info,
    timeLog: L.info, trace: L.error,
  };
  let level = L.info;
  const out = { write(text) { if (level >= options.logLevel) log(level, text.slice(0, -1)); } };
  const own = new console.Console({ stdout: out, stderr: out, ignoreErrors: false, colorMode: false });
  Object.keys(levels).forEach(name => {
    console[name] = function () {
      level = levels[name];
      if (level >= options.logLevel || name === 'count' || name.startsWith('group')) own[name].apply(own, arguments);
    };
  });
  ['countReset', 'groupEnd', 'time'].forEach(name => { console[name] = own[name]; });
  adaptStream('stdout', console.info);
  adaptStream('stderr', console.error);
}

const unfinished = []; // each writes what a stream was given and is no line yet

function adaptStream(name, print) {
  const made = Object.getOwnPropertyDescriptor(process, name).get;
  let rest = '';
  const flush = () => {
    const line = rest;
    rest = '';
    if (line) print(line);
  };
  const get = () => {
    const stream = made.call(process);
    Object.defineProperty(process, name, { get: made });
    stream._writev = null;
    stream._write = (chunk, encoding, done) => {
      const lines = (rest + (typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString())).split('\n');
      rest = lines.pop();
      for (const line of lines) print(line);
      if (rest.length > LOG_MAX) flush();
      done();
    };
    return stream;
  };
  Object.defineProperty(process, name, { get: get });
  unfinished.push(flush);
}

// local returns where a path of the original is here.
function local(p) {
  if (typeof p !== 'string' || !p.startsWith('/local/')) return p;
  for (const [there, here] of [[LOCAL_GAME, options.game], [LOCAL_METADATA, options.metadata]]) {
    if (p === there || p.startsWith(there + '/')) return here + p.slice(there.length);
  }
  return p;
}

function adaptPaths() {
  const wrap = (object, names, paths) => names.forEach(name => {
    const original = object[name];
    if (typeof original !== 'function') return;
    const adapted = function () {
      for (let i = 0; i < paths && i < arguments.length; i++) arguments[i] = local(arguments[i]);
      return original.apply(this, arguments);
    };
    object[name] = Object.defineProperties(adapted, Object.getOwnPropertyDescriptors(original));
  });
  const names = [
    'access', 'appendFile', 'chmod', 'lstat', 'mkdir', 'mkdtemp', 'open', 'opendir', 'readFile', 'readdir', 'readlink', 'realpath', 'rm',
    'rmdir', 'stat', 'truncate', 'unlink', 'utimes', 'writeFile',
  ];
  const pairs = ['copyFile', 'cp', 'link', 'rename', 'symlink'];
  wrap(fs, names.concat(names.map(n => n + 'Sync'), 'exists', 'existsSync', 'createReadStream', 'createWriteStream', 'watch', 'watchFile'), 1);
  wrap(fs, pairs.concat(pairs.map(n => n + 'Sync')), 2);
  wrap(fs.promises, names, 1);
  wrap(fs.promises, pairs, 2);

  // The host has translated TypeScript already.
  for (const extension of ['.ts', '.mts', '.cts']) Module._extensions[extension] = Module._extensions['.js'];

  const resolve = Module._resolveFilename;
  Module._resolveFilename = function (request) {
    arguments[0] = local(request);
    try {
      return resolve.apply(this, arguments);
    } catch (error) {
      const stub = /(?:^|\/)src\/proto\/(Packet|CoreCommands|GroupMessages)_pb(?:\.js)?$/.exec(request);
      if (stub) return path.join(options.game, '..', 'src', 'proto', stub[1] + '_pb.js');
      if (!/\.js$/.test(request)) throw error;
      try { // TypeScript names the file that would be emitted
        arguments[0] = arguments[0].replace(/js$/, 'ts');
        return resolve.apply(this, arguments);
      } catch (another) {
        throw error;
      }
    }
  };
}

// adaptTimers measures what timers call, and bounds how many wait.
function adaptTimers() {
  const { tickMs, timersMax } = options;
  const measured = f => function () {
    const start = now();
    try {
      return f.apply(this, arguments);
    } finally {
      slow('a timer', now() - start);
    }
  };
  // Those that have fired or were cleared are found when there are many.
  const waiting = new Set();
  let promised = 0, sweepAt = TIMERS_SWEEP;
  const counted = make => {
    if (!(timersMax > 0)) return make();
    if (waiting.size + promised >= Math.min(sweepAt, timersMax)) {
      for (const timer of waiting) if (timer._destroyed !== false) waiting.delete(timer);
      if (waiting.size + promised >= timersMax) throw new RangeError('more than ' + timersMax + ' timers wait');
      sweepAt = Math.max(TIMERS_SWEEP, 2 * (waiting.size + promised));
    }
    const timer = make();
    if (!util.types.isPromise(timer)) {
      waiting.add(timer);
      return timer;
    }
    promised++;
    // Not beside the script's own: a rejection that it does not handle is to be told.
    return timer.then(value => { promised--; return value; }, error => { promised--; throw error; });
  };
  ['setTimeout', 'setInterval', 'setImmediate'].forEach(name => {
    const original = timers[name], properties = Object.getOwnPropertyDescriptors(original), inPromise = original[util.promisify.custom];
    const adapted = function (f) {
      if (tickMs > 0 && typeof f === 'function') arguments[0] = measured(f);
      return counted(() => original.apply(this, arguments));
    };
    if (inPromise !== undefined) {
      const promising = function () { return counted(() => inPromise.apply(this, arguments)); };
      Object.defineProperties(promising, Object.getOwnPropertyDescriptors(inPromise));
      timers.promises[name] = promising;
      properties[util.promisify.custom] = { value: promising, enumerable: true };
    }
    timers[name] = globalThis[name] = Object.defineProperties(adapted, properties);
  });
}

let realtime = null, importFile = null;

exports.run = function run(glueModule, importer) {
  realtime = glueModule;
  importFile = importer;
  watchErrors();
  listen();
};
