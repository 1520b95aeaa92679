const errorMonitor = Symbol('events.errorMonitor');

function badListener(f) {
  if (typeof f === 'function') return;
  const e = new TypeError(`The "listener" argument must be of type function. Received ${f === null ? 'null' : typeof f}`);
  e.code = 'ERR_INVALID_ARG_TYPE';
  throw e;
}

// A plain function, because scripts call it without new from their own constructors.
function EventEmitter() {
  EventEmitter.init.call(this);
}

EventEmitter.init = function () {
  if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
    this._events = Object.create(null);
    this._eventsCount = 0;
  }
  this._maxListeners = this._maxListeners || undefined;
};
EventEmitter.prototype._events = undefined;
EventEmitter.prototype._eventsCount = 0;
EventEmitter.prototype._maxListeners = undefined;
EventEmitter.defaultMaxListeners = 10;

const listOf = (emitter, name) => {
  const l = emitter._events && emitter._events[name];
  return l === undefined ? [] : typeof l === 'function' ? [l] : l;
};

function add(emitter, name, listener, first) {
  badListener(listener);
  if (emitter._events === undefined) EventEmitter.init.call(emitter);
  if (emitter._events.newListener !== undefined) emitter.emit('newListener', name, listener.listener || listener);
  const events = emitter._events;
  const had = events[name];
  if (had === undefined) {
    events[name] = listener;
    emitter._eventsCount++;
    return emitter;
  }
  const list = typeof had === 'function' ? [had] : had;
  events[name] = list;
  if (first) list.unshift(listener);
  else list.push(listener);
  const max = emitter.getMaxListeners();
  if (max > 0 && list.length > max && !list.warned) {
    Object.defineProperty(list, 'warned', { value: true });
    require('console').warn(`MaxListenersExceededWarning: Possible EventEmitter memory leak detected. ${list.length} ${String(name)} listeners added. Use emitter.setMaxListeners() to increase limit`);
  }
  return emitter;
}

function onceWrapper(emitter, name, listener) {
  badListener(listener);
  let fired = false;
  const wrapped = function (...args) {
    if (fired) return undefined;
    fired = true;
    emitter.removeListener(name, wrapped);
    return Reflect.apply(listener, emitter, args);
  };
  wrapped.listener = listener;
  return wrapped;
}

const methods = {
  setMaxListeners(n) {
    if (typeof n !== 'number' || n < 0 || Number.isNaN(n)) {
      const e = new RangeError(`The value of "n" is out of range. It must be a non-negative number. Received ${require('inspect').inspect(n)}`);
      e.code = 'ERR_OUT_OF_RANGE';
      throw e;
    }
    this._maxListeners = n;
    return this;
  },
  getMaxListeners() { return this._maxListeners === undefined ? EventEmitter.defaultMaxListeners : this._maxListeners; },
  emit(name, ...args) {
    if (name === 'error') {
      for (const f of [...listOf(this, errorMonitor)]) Reflect.apply(f, this, args);
      if (listOf(this, 'error').length === 0) {
        if (args[0] instanceof Error) throw args[0];
        const e = new Error(`Unhandled error. (${typeof args[0] === 'string' ? `'${args[0]}'` : require('inspect').inspect(args[0])})`);
        e.code = 'ERR_UNHANDLED_ERROR';
        e.context = args[0];
        throw e;
      }
    }
    const l = this._events && this._events[name];
    if (l === undefined) return false;
    if (typeof l === 'function') Reflect.apply(l, this, args);
    else for (const f of [...l]) Reflect.apply(f, this, args);
    return true;
  },
  addListener(name, f) { return add(this, name, f, false); },
  prependListener(name, f) { return add(this, name, f, true); },
  once(name, f) { return add(this, name, onceWrapper(this, name, f), false); },
  prependOnceListener(name, f) { return add(this, name, onceWrapper(this, name, f), true); },
  removeListener(name, f) {
    badListener(f);
    const list = listOf(this, name);
    let i = list.length - 1;
    while (i >= 0 && list[i] !== f && list[i].listener !== f) i--;
    if (i < 0) return this;
    const gone = list[i].listener || list[i];
    if (list.length === 1) {
      delete this._events[name];
      this._eventsCount--;
    } else {
      const rest = [...list];
      rest.splice(i, 1);
      this._events[name] = rest.length === 1 ? rest[0] : rest;
    }
    if (this._events.removeListener !== undefined) this.emit('removeListener', name, gone);
    return this;
  },
  removeAllListeners(name) {
    if (this._events === undefined) return this;
    if (name !== undefined) {
      if (this._events.removeListener === undefined) {
        if (this._events[name] !== undefined) {
          delete this._events[name];
          this._eventsCount--;
        }
      } else for (const f of [...listOf(this, name)].reverse()) this.removeListener(name, f);
      return this;
    }
    if (this._events.removeListener !== undefined) for (const key of Reflect.ownKeys(this._events)) if (key !== 'removeListener') this.removeAllListeners(key);
    this._events = Object.create(null);
    this._eventsCount = 0;
    return this;
  },
  listeners(name) { return listOf(this, name).map((f) => f.listener || f); },
  rawListeners(name) { return [...listOf(this, name)]; },
  listenerCount(name, f) { return f ? listOf(this, name).filter((g) => g === f || g.listener === f).length : listOf(this, name).length; },
  eventNames() { return this._events ? Reflect.ownKeys(this._events) : []; },
};
methods.on = methods.addListener;
methods.off = methods.removeListener;
Object.assign(EventEmitter.prototype, methods);

EventEmitter.once = function once(emitter, name) {
  return new Promise((resolve, reject) => {
    const failed = (e) => {
      emitter.removeListener(name, done);
      reject(e);
    };
    const done = (...args) => {
      emitter.removeListener('error', failed);
      resolve(args);
    };
    emitter.once(name, done);
    if (name !== 'error') emitter.once('error', failed);
  });
};

EventEmitter.EventEmitter = EventEmitter;
EventEmitter.errorMonitor = errorMonitor;
EventEmitter.listenerCount = (emitter, name) => emitter.listenerCount(name);
EventEmitter.getEventListeners = (emitter, name) => emitter.listeners(name);
EventEmitter.setMaxListeners = (n, ...emitters) => {
  if (emitters.length === 0) EventEmitter.defaultMaxListeners = n;
  for (const e of emitters) e.setMaxListeners(n);
};
module.exports = EventEmitter;
