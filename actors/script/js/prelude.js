'use strict';

// Timers as Node has them (realtime.md 18.2), and what keeps scripts from ending the
// process, over the host of host.go.

function define(object, name, value) {
  Object.defineProperty(object, name, { value: value, writable: true, configurable: true });
}

exports.create = function create(host, global) {
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

  function attempt(f, self, args) {
    try {
      f.apply(self, args);
    } catch (error) {
      host.uncaught(error);
    }
    host.afterCallback();
  }

  // The engine recurses over source and over nested arrays; see guard.go. A direct
  // eval becomes an indirect one by this: it sees globals only.
  function guarded(original) {
    function guard() {
      host.checkSource(arguments);
      return new.target === undefined || new.target === guard ? Reflect.construct(original, arguments) : Reflect.construct(original, arguments, new.target);
    }
    Object.defineProperty(guard, 'name', { value: original.name, configurable: true });
    Object.defineProperty(guard, 'length', { value: 1, configurable: true });
    Object.defineProperty(guard, 'prototype', { value: original.prototype, writable: false });
    define(original.prototype, 'constructor', guard);
    return guard;
  }
  define(global, 'Function', guarded(global.Function));
  guarded((function* () {}).constructor);
  guarded((async function () {}).constructor);
  const indirect = global.eval;
  define(global, 'eval', { eval(source) {
    if (typeof source === 'string') host.checkSource([source]);
    return indirect(source);
  } }.eval);

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

  const timers = { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval: clearTimeout, clearImmediate };
  Object.keys(timers).forEach(name => Object.defineProperty(global, name, { value: timers[name], writable: true, configurable: true, enumerable: true }));

  return {
    fire(timer) { attempt(timer._onTimeout, timer, timer._args); },
    fireImmediate(immediate) {
      const f = immediate._onImmediate;
      if (f === null) return;
      immediate._onImmediate = null;
      host.notSoon();
      attempt(f, immediate, immediate._args);
    },
  };
};
