const { kind } = require('inspect');

function cannot(v) {
  const e = new Error(`${typeof v === 'symbol' ? v.toString() : v} could not be cloned.`);
  e.name = 'DataCloneError';
  e.code = 25;
  return e;
}

function clone(v, seen) {
  if (typeof v === 'function' || typeof v === 'symbol') throw cannot(v);
  if (v === null || typeof v !== 'object') return v;
  if (seen.has(v)) return seen.get(v);
  const keep = (copy) => {
    seen.set(v, copy);
    return copy;
  };
  switch (kind(v)) {
    case 'Array': {
      const out = keep(new Array(v.length));
      for (const k of Object.keys(v)) out[k] = clone(v[k], seen);
      return out;
    }
    case 'Map': {
      const out = keep(new Map());
      for (const [k, x] of [...v]) out.set(clone(k, seen), clone(x, seen));
      return out;
    }
    case 'Set': {
      const out = keep(new Set());
      for (const x of [...v]) out.add(clone(x, seen));
      return out;
    }
    case 'Date': return keep(new Date(v.getTime()));
    case 'RegExp': return keep(new RegExp(v.source, v.flags));
    case 'ArrayBuffer': return keep(v.slice(0));
    case 'DataView': return keep(new DataView(clone(v.buffer, seen), v.byteOffset, v.byteLength));
    case 'TypedArray': {
      const Class = globalThis[Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array).prototype, Symbol.toStringTag).get.call(v)];
      return keep(new Class(clone(v.buffer, seen), v.byteOffset, v.length));
    }
    case 'Number': case 'String': case 'Boolean': case 'BigInt': return keep(Object(v.valueOf()));
    case 'Error': {
      const names = ['EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError'];
      const out = keep(new (names.includes(v.name) ? globalThis[v.name] : Error)(v.message));
      out.stack = v.stack;
      if ('cause' in v) Object.defineProperty(out, 'cause', { value: clone(v.cause, seen), writable: true, configurable: true });
      return out;
    }
    case 'Promise': case 'WeakMap': case 'WeakSet': case 'Symbol': throw cannot(`#<${kind(v)}>`);
  }
  const out = keep({});
  for (const k of Object.keys(v)) out[k] = clone(v[k], seen);
  return out;
}

module.exports = {
  structuredClone(v) {
    return clone(v, new Map());
  },
  queueMicrotask(f) {
    if (typeof f !== 'function') throw new TypeError(`The "callback" argument must be of type function. Received ${f}`);
    Promise.resolve().then(() => f()).catch(binding.uncaught);
  },
};
