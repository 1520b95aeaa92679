'use strict';

// Timers, ticks and what becomes of uncaught errors, as Node has them (realtime.md
// 18.2, 18.3), over the host of prelude.go. Promise jobs are the engine's own: they
// run when the outermost call into the runtime is over.
function define(object, name, value) {
  Object.defineProperty(object, name, { value: value, writable: true, configurable: true });
}

exports.create = function create(host, process, global) {
  // Timers are kept by the host, which calls fire with what is due.
  class Timeout {
    constructor(f, delay, repeat, args) {
      this._idleTimeout = delay;
      this._onTimeout = f;
      this._repeat = repeat;
      this._args = args;
      this._id = host.arm(this, delay, repeat);
    }
    ref() { return this; }
    unref() { return this; }
    hasRef() { return host.armed(this._id); }
    refresh() {
      host.disarm(this._id);
      this._id = host.arm(this, this._idleTimeout, this._repeat);
      return this;
    }
    close() { host.disarm(this._id); return this; }
    [host.toPrimitive]() { return this._id; }
  }

  class Immediate {
    constructor(f, args) {
      this._onImmediate = f;
      this._args = args;
      host.soon(this);
    }
    ref() { return this; }
    unref() { return this; }
    hasRef() { return this._onImmediate !== null; }
  }

  function callable(f) {
    if (typeof f === 'function') return;
    const error = new TypeError('The "callback" argument must be of type function. Received ' + (f === null ? 'null' : typeof f));
    error.code = 'ERR_INVALID_ARG_TYPE';
    throw error;
  }

  function delayOf(delay) {
    delay = Number(delay);
    return delay >= 1 && delay <= 2147483647 ? Math.trunc(delay) : 1;
  }

  function setTimeout(f, delay) {
    callable(f);
    return new Timeout(f, delayOf(delay), false, Array.prototype.slice.call(arguments, 2));
  }
  function setInterval(f, delay) {
    callable(f);
    return new Timeout(f, delayOf(delay), true, Array.prototype.slice.call(arguments, 2));
  }
  function setImmediate(f) {
    callable(f);
    return new Immediate(f, Array.prototype.slice.call(arguments, 1));
  }
  function clearTimeout(timer) {
    if (timer instanceof Timeout) host.disarm(timer._id);
    else if (typeof timer === 'number' || typeof timer === 'string') host.disarm(Number(timer));
  }
  function clearImmediate(immediate) {
    if (immediate instanceof Immediate && immediate._onImmediate !== null) {
      immediate._onImmediate = null;
      host.notSoon();
    }
  }

  // Ticks come before promise jobs, which come before anything else.
  let ticks = [];

  function nextTick(f) {
    callable(f);
    if (ticks.length === 0) host.ticking();
    ticks.push({ f: f, args: Array.prototype.slice.call(arguments, 1) });
  }

  function drain() {
    while (ticks.length !== 0) {
      const now = ticks;
      ticks = [];
      for (let i = 0; i < now.length; i++) attempt(now[i].f, undefined, now[i].args);
    }
  }

  function attempt(f, self, args) {
    try {
      f.apply(self, args);
    } catch (error) {
      uncaught(error, 'uncaughtException');
    }
  }

  function queueMicrotask(f) {
    callable(f);
    Promise.resolve().then(() => attempt(f, undefined, []));
  }

  function listens(event) { return typeof process.listenerCount === 'function' && process.listenerCount(event) > 0; }

  function uncaught(error, origin) {
    try {
      if (listens('uncaughtException')) {
        process.emit('uncaughtException', error, origin);
        return;
      }
    } catch (another) {
      error = another;
    }
    host.uncaught(error, origin === 'unhandledRejection' ? 'Unhandled promise rejection' : 'Uncaught error');
  }

  let exiting = false;
  process.exit = function exit(code) {
    if (code === undefined) code = process.exitCode;
    if (!exiting) {
      exiting = true;
      try {
        if (listens('exit')) process.emit('exit', code);
      } catch (error) { /* too late to tell anybody */ }
    }
    host.exit(Number(code) | 0);
  };
  process.reallyExit = process.exit;
  process.abort = () => host.exit(134);
  process.nextTick = nextTick;

  // The engine recurses over source and over nested arrays; see guard.go. A direct
  // eval becomes an indirect one by this: it sees globals only.
  const indirect = global.eval;
  const guarded = {
    apply(target, self, args) { host.checkSource(args); return Reflect.apply(target, self, args); },
    construct(target, args, to) { host.checkSource(args); return Reflect.construct(target, args, to); },
  };
  [function () {}, function* () {}, async function () {}].forEach(f => {
    const constructor = f.constructor, proxy = new Proxy(constructor, guarded);
    define(constructor.prototype, 'constructor', proxy);
    if (constructor === global.Function) define(global, 'Function', proxy);
  });
  define(global, 'eval', new Proxy(indirect, { apply(target, self, args) { if (typeof args[0] === 'string') host.checkSource(args); return indirect(args[0]); } }));

  const flat = Array.prototype.flat;
  define(Array.prototype, 'flat', { flat(depth) {
    if (!(depth > 100)) return flat.call(this, depth);
    const out = [], open = [{ array: this, at: 0 }];
    while (open.length !== 0) {
      const top = open[open.length - 1];
      if (top.at >= top.array.length) open.pop();
      else if (top.at in top.array) {
        const value = top.array[top.at++];
        if (Array.isArray(value) && open.length <= depth) open.push({ array: value, at: 0 });
        else out.push(value);
      } else top.at++;
    }
    return out;
  } }.flat);

  const timers = { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval: clearTimeout, clearImmediate, queueMicrotask };
  Object.keys(timers).forEach(name => Object.defineProperty(global, name, { value: timers[name], writable: true, configurable: true, enumerable: true }));

  return {
    drain: drain,
    afterCallback() { if (ticks.length !== 0) drain(); },
    fire(timer) {
      attempt(timer._onTimeout, timer, timer._args);
      if (ticks.length !== 0) drain();
    },
    fireImmediate(immediate) {
      const f = immediate._onImmediate;
      if (f === null) return;
      immediate._onImmediate = null;
      host.notSoon();
      attempt(f, immediate, immediate._args);
      if (ticks.length !== 0) drain();
    },
    // rejected decides on a promise that nobody handles; fatal as in Node 15 and later.
    rejected(reason, promise, fatal) {
      try {
        if (listens('unhandledRejection')) {
          process.emit('unhandledRejection', reason, promise);
          return;
        }
      } catch (error) {
        uncaught(error, 'uncaughtException');
        return;
      }
      if (fatal) uncaught(reason, 'unhandledRejection');
      else host.warned(reason);
    },
  };
};
