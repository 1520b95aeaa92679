function abortError(signal) {
  const e = new Error('The operation was aborted');
  e.name = 'AbortError';
  e.code = 'ABORT_ERR';
  if (signal.reason !== undefined) e.cause = signal.reason;
  return e;
}

function wait(start, stop, value, options = {}) {
  if (options === null || typeof options !== 'object') {
    const e = new TypeError(`The "options" argument must be of type object. Received ${options === null ? 'null' : `type ${typeof options} (${require('inspect').inspect(options)})`}`);
    e.code = 'ERR_INVALID_ARG_TYPE';
    return Promise.reject(e);
  }
  const { signal } = options;
  if (signal && signal.aborted) return Promise.reject(abortError(signal));
  return new Promise((resolve, reject) => {
    const t = start(() => resolve(value));
    if (signal) signal.addEventListener('abort', () => {
      stop(t);
      reject(abortError(signal));
    }, { once: true });
  });
}

const setTimeout = (ms, value, options) => wait((f) => globalThis.setTimeout(f, ms), (t) => globalThis.clearTimeout(t), value, options);
const setImmediate = (value, options) => wait((f) => globalThis.setImmediate(f), (t) => globalThis.clearImmediate(t), value, options);
module.exports = {
  setTimeout, setImmediate,
  setInterval(ms, value, { signal } = {}) {
    let ready = 0, waiting, over = false, failure;
    const t = globalThis.setInterval(() => {
      if (waiting) {
        const w = waiting;
        waiting = undefined;
        w.resolve({ value, done: false });
      } else ready++;
    }, ms);
    const stop = (e) => {
      over = true;
      globalThis.clearInterval(t);
      if (waiting && e) waiting.reject(e);
      else if (waiting) waiting.resolve({ value: undefined, done: true });
      else failure = e;
      waiting = undefined;
    };
    if (signal) signal.addEventListener('abort', () => stop(abortError(signal)), { once: true });
    return {
      next() {
        if (failure) return Promise.reject(failure);
        if (over) return Promise.resolve({ value: undefined, done: true });
        if (ready > 0) {
          ready--;
          return Promise.resolve({ value, done: false });
        }
        return new Promise((resolve, reject) => { waiting = { resolve, reject }; });
      },
      return() {
        stop();
        return Promise.resolve({ value: undefined, done: true });
      },
      [Symbol.asyncIterator]() { return this; },
    };
  },
  scheduler: { wait: (ms, options) => setTimeout(ms, undefined, options), yield: () => setImmediate() },
};
