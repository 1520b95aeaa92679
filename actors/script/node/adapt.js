'use strict';
// What Node has otherwise than the original.

const fs = require('fs'), path = require('path'), stream = require('stream'), timers = require('timers'), util = require('util');
const Module = require('module'), childProcess = require('child_process');

const LEVELS = load('realtime').LEVELS;
const LOCAL_GAME = '/local/game', LOCAL_METADATA = '/local/gamemetadata';
const TIMERS_SWEEP = 256; // at so many timers, those that are over are forgotten

const now = performance.now.bind(performance);

// all adapts what the whole process has. Its game sessions have the same files.
exports.all = function all(options) {
  adaptPaths(options);
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
};

// console makes target print to the log of a game session, from where it is called.
exports.console = function (game, target) {
  const L = LEVELS;
  const levels = {
    log: L.info, info: L.info, debug: L.debug, warn: L.warn, error: L.error, assert: L.warn, count: L.info, dir: L.info, dirxml: L.info, group: L.info, groupCollapsed: L.info, table: L.info, timeEnd: L.info,
    timeLog: L.info, trace: L.error,
  };
  let level = L.info;
  const out = { write(text) { if (level >= game.options.logLevel) game.log(level, text.slice(0, -1)); } };
  const own = new console.Console({ stdout: out, stderr: out, ignoreErrors: false, colorMode: false });
  Object.keys(levels).forEach(name => {
    target[name] = function () {
      level = levels[name];
      if (level >= game.options.logLevel || name === 'count' || name.startsWith('group')) own[name].apply(own, arguments);
    };
  });
  ['countReset', 'groupEnd', 'time'].forEach(name => { target[name] = own[name]; });
  return target;
};

// lines makes what is written to a stream lines for print.
exports.lines = function (game, print, max) {
  let rest = '';
  const flush = () => {
    const line = rest;
    rest = '';
    if (line) print(line);
  };
  game.unfinished.push(flush);
  return (chunk, encoding, done) => {
    const lines = (rest + (typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString())).split('\n');
    rest = lines.pop();
    for (const line of lines) print(line);
    if (rest.length > max) flush();
    done();
  };
};

exports.local = null; // local(p) is where a path of the original is here

function adaptPaths(options) {
  const local = exports.local = p => {
    if (typeof p !== 'string' || !p.startsWith('/local/')) return p;
    for (const [there, here] of [[LOCAL_GAME, options.game], [LOCAL_METADATA, options.metadata]]) {
      if (p === there || p.startsWith(there + '/')) return here + p.slice(there.length);
    }
    return p;
  };
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

// timers returns functions that measure what timers call, and bound how many wait. call(f, self, args) calls one.
// waiting has those that may wait.
exports.timers = function (game, call) {
  const { tickMs, timersMax } = game.options, max = timersMax > 0 ? timersMax : Infinity;
  const adapted = f => function () {
    const start = now();
    try {
      return call(f, this, arguments);
    } finally {
      if (tickMs > 0) game.slow('a timer', now() - start);
    }
  };
  // Those that have fired or were cleared are found when there are many.
  const waiting = new Set();
  let promised = 0, sweepAt = TIMERS_SWEEP;
  const counted = make => {
    if (waiting.size + promised >= Math.min(sweepAt, max)) {
      for (const timer of waiting) if (timer._destroyed !== false) waiting.delete(timer);
      if (waiting.size + promised >= max) throw new RangeError('more than ' + timersMax + ' timers wait');
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
  const made = { waiting: waiting, promises: Object.assign({}, timers.promises) };
  ['setTimeout', 'setInterval', 'setImmediate'].forEach(name => {
    const original = timers[name], properties = Object.getOwnPropertyDescriptors(original), inPromise = original[util.promisify.custom];
    const counting = function (f) {
      if (typeof f === 'function') arguments[0] = adapted(f);
      return counted(() => original.apply(this, arguments));
    };
    if (inPromise !== undefined) {
      const promising = function () { return counted(() => inPromise.apply(this, arguments)); };
      Object.defineProperties(promising, Object.getOwnPropertyDescriptors(inPromise));
      made.promises[name] = promising;
      properties[util.promisify.custom] = { value: promising, enumerable: true };
    }
    made[name] = Object.defineProperties(counting, properties);
  });
  return made;
};
