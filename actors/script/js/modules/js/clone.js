const { kind } = require('inspect');

function clone(v, seen) {
  if (v === null || typeof v !== 'object' && typeof v !== 'function' && typeof v !== 'symbol') return v;
  if (seen.has(v)) return seen.get(v);
  let out;
  const keep = (copy) => {
    seen.set(v, copy);
    return copy;
  };
  switch (kind(v)) {
    case 'Date': return keep(new Date(v.getTime()));
    case 'RegExp': return keep(new RegExp(v.source, v.flags));
    case 'ArrayBuffer': return keep(v.slice(0));
    case 'TypedArray': return keep(v.constructor.from(v));
    case 'Map':
      out = keep(new Map());
      v.forEach((x, k) => out.set(clone(k, seen), clone(x, seen)));
      return out;
    case 'Set':
      out = keep(new Set());
      v.forEach((x) => out.add(clone(x, seen)));
      return out;
    case 'Error':
      out = keep(new (['EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError'].includes(v.name) ? globalThis[v.name] : Error)(v.message));
      out.stack = v.stack;
      return out;
    case 'Array': out = keep(new Array(v.length)); break;
    case 'Object': out = keep({}); break;
    default: throw Object.assign(new Error(`${String(v)} could not be cloned.`), { name: 'DataCloneError', code: 25 });
  }
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
