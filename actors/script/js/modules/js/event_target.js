class Event {
  #stopped = false;
  constructor(type, { bubbles = false, cancelable = false } = {}) {
    this.type = `${type}`;
    this.bubbles = bubbles;
    this.cancelable = cancelable;
    this.defaultPrevented = false;
    this.target = this.currentTarget = null;
    this.timeStamp = require('perf_hooks').performance.now();
  }
  preventDefault() { if (this.cancelable) this.defaultPrevented = true; }
  stopPropagation() {}
  stopImmediatePropagation() { this.#stopped = true; }
  static stopped(e) { return e.#stopped; }
}

class EventTarget {
  #listeners = new Map();
  addEventListener(type, f, options) {
    if (f === null || f === undefined) return;
    const once = !!(options && options.once);
    const list = this.#listeners.get(type) || [];
    if (!list.some((l) => l.f === f)) list.push({ f, once });
    this.#listeners.set(type, list);
  }
  removeEventListener(type, f) {
    this.#listeners.set(type, (this.#listeners.get(type) || []).filter((l) => l.f !== f));
  }
  dispatchEvent(e) {
    e.target = e.currentTarget = this;
    for (const l of [...(this.#listeners.get(e.type) || [])]) {
      if (Event.stopped(e)) break;
      if (l.once) this.removeEventListener(e.type, l.f);
      if (typeof l.f === 'function') l.f.call(this, e);
      else l.f.handleEvent(e);
    }
    return !e.defaultPrevented;
  }
}

function domError(name, message, code) {
  const e = new Error(message);
  e.name = name;
  e.code = code;
  return e;
}

let abort;
class AbortSignal extends EventTarget {
  aborted = false;
  reason = undefined;
  onabort = null;
  throwIfAborted() { if (this.aborted) throw this.reason; }
  #abort(reason) {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason === undefined ? domError('AbortError', 'This operation was aborted', 20) : reason;
    const e = new Event('abort');
    if (typeof this.onabort === 'function') this.onabort(e);
    this.dispatchEvent(e);
  }
  static { abort = (s, reason) => s.#abort(reason); }
  static abort(reason) {
    const s = new AbortSignal();
    abort(s, reason);
    return s;
  }
  static timeout(ms) {
    const s = new AbortSignal();
    globalThis.setTimeout(() => abort(s, domError('TimeoutError', 'The operation was aborted due to timeout', 23)), ms);
    return s;
  }
  static any(signals) {
    const s = new AbortSignal();
    for (const other of signals) {
      if (other.aborted) abort(s, other.reason);
      else other.addEventListener('abort', () => abort(s, other.reason), { once: true });
    }
    return s;
  }
}

class AbortController {
  signal = new AbortSignal();
  abort(reason) { abort(this.signal, reason); }
}
module.exports = { Event, EventTarget, AbortSignal, AbortController };
