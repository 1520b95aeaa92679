const { needFunction } = require('errors');

// A plain function, because scripts call it without new from their own constructors.
function EventEmitter() {
  if (!Object.prototype.hasOwnProperty.call(this, '_events')) this._events = Object.create(null);
}
EventEmitter.prototype._events = undefined;

const listOf = (emitter, name) => emitter._events && emitter._events[name] || [];

// Lists are replaced, never changed: an emit keeps the list that it began with.
function add(emitter, name, listener, first) {
  needFunction(listener, 'listener');
  EventEmitter.call(emitter);
  const had = listOf(emitter, name);
  emitter._events[name] = first ? [listener, ...had] : [...had, listener];
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
  setMaxListeners() { return this; },
  getMaxListeners: () => Infinity,
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
    return this;
  },
  removeAllListeners(name) {
    if (name === undefined) {
      this._events = Object.create(null);
    } else if (this._events) delete this._events[name];
    return this;
  },
  listeners(name) { return listOf(this, name).map((f) => f.listener || f); },
  listenerCount(name, f) { return f ? this.listeners(name).filter((g) => g === f).length : listOf(this, name).length; },
  eventNames() { return this._events ? Reflect.ownKeys(this._events) : []; },
};
methods.on = methods.addListener;
methods.off = methods.removeListener;
Object.assign(EventEmitter.prototype, methods);

EventEmitter.EventEmitter = EventEmitter;
module.exports = EventEmitter;
