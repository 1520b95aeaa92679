const { needFunction } = require('errors');

// A plain function, because scripts call it without new from their own constructors.
function EventEmitter() {
  if (!Object.prototype.hasOwnProperty.call(this, '_events')) this._events = Object.create(null);
}
EventEmitter.prototype._events = undefined;
EventEmitter.prototype._maxListeners = undefined;
EventEmitter.defaultMaxListeners = 10;

const listOf = (emitter, name) => emitter._events && emitter._events[name] || [];

// Lists are replaced, never changed: an emit goes on with the one that it began with.
function add(emitter, name, listener, first) {
  needFunction(listener, 'listener');
  EventEmitter.call(emitter);
  if (emitter._events.newListener !== undefined) emitter.emit('newListener', name, listener.listener || listener);
  const had = listOf(emitter, name), max = emitter.getMaxListeners();
  emitter._events[name] = first ? [listener, ...had] : [...had, listener];
  if (max > 0 && had.length === max) require('console').warn(`MaxListenersExceededWarning: ${max + 1} ${String(name)} listeners added. Use emitter.setMaxListeners() to increase limit`);
  return emitter;
}

function onceWrapper(emitter, name, listener) {
  needFunction(listener, 'listener');
  const wrapped = (...args) => {
    emitter.removeListener(name, wrapped);
    if (wrapped.fired) return undefined;
    wrapped.fired = true;
    return Reflect.apply(listener, emitter, args);
  };
  wrapped.listener = listener;
  return wrapped;
}

const methods = {
  setMaxListeners(n) {
    this._maxListeners = n;
    return this;
  },
  getMaxListeners() { return this._maxListeners === undefined ? EventEmitter.defaultMaxListeners : this._maxListeners; },
  emit(name, ...args) {
    if (name === 'error' && listOf(this, 'error').length === 0) {
      if (args[0] instanceof Error) throw args[0];
      throw Object.assign(new Error(`Unhandled error. (${require('inspect').inspect(args[0])})`), { code: 'ERR_UNHANDLED_ERROR', context: args[0] });
    }
    const list = listOf(this, name);
    for (let i = 0; i < list.length; i++) Reflect.apply(list[i], this, args);
    return list.length > 0;
  },
  addListener(name, f) { return add(this, name, f, false); },
  prependListener(name, f) { return add(this, name, f, true); },
  once(name, f) { return add(this, name, onceWrapper(this, name, f), false); },
  prependOnceListener(name, f) { return add(this, name, onceWrapper(this, name, f), true); },
  removeListener(name, f) {
    needFunction(f, 'listener');
    const list = listOf(this, name);
    let i = list.length - 1;
    while (i >= 0 && list[i] !== f && list[i].listener !== f) i--;
    if (i < 0) return this;
    if (list.length === 1) delete this._events[name];
    else this._events[name] = list.filter((_, j) => j !== i);
    if (this._events.removeListener !== undefined) this.emit('removeListener', name, list[i].listener || list[i]);
    return this;
  },
  removeAllListeners(name) {
    if (name === undefined) {
      for (const key of this.eventNames()) if (key !== 'removeListener') this.removeAllListeners(key);
      this._events = Object.create(null);
    } else for (const f of [...listOf(this, name)].reverse()) this.removeListener(name, f);
    return this;
  },
  listeners(name) { return listOf(this, name).map((f) => f.listener || f); },
  rawListeners(name) { return [...listOf(this, name)]; },
  listenerCount(name, f) { return f ? this.listeners(name).filter((g) => g === f).length : listOf(this, name).length; },
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
EventEmitter.listenerCount = (emitter, name) => emitter.listenerCount(name);
module.exports = EventEmitter;
