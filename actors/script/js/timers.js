'use strict';

// Timers as in Node.js (realtime.md 18.2). A runtime runs this file when its script first uses a timer.
exports.create = function create(host) {
  const ticks = host.ticks;

  // The host keeps the timers, and calls fire with one that is due.
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
      // A call of a method costs half of one by apply.
      if (args.length === 0 && self._onTimeout === f) self._onTimeout();
      else f.apply(self, args);
    } catch (error) {
      host.uncaught(error);
    }
    if (ticks.waiting) host.afterCallback();
  }

  return {
    setTimeout, setInterval, setImmediate, clearTimeout, clearInterval: clearTimeout, clearImmediate,
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
