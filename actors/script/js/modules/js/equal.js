// Comparison of values, as in assert.deepEqual and deepStrictEqual.
const { kind } = binding;

const isObject = (v) => v !== null && typeof v === 'object';

function keysOf(o, strict) {
  const keys = Object.keys(o);
  return strict ? keys.concat(Object.getOwnPropertySymbols(o).filter((s) => Object.prototype.propertyIsEnumerable.call(o, s))) : keys;
}

function deepEqual(a, b, strict, seen = new Map()) {
  if (a === b) return a !== 0 || !strict || Object.is(a, b);
  if (!isObject(a) || !isObject(b)) {
    if (Number.isNaN(a) && Number.isNaN(b)) return true;
    return !strict && !isObject(a) && !isObject(b) && typeof a !== 'function' && typeof b !== 'function' && a == b;
  }
  if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  const k = kind(a);
  if (k !== kind(b)) return false;
  switch (k) {
    case 'Date': case 'Number': case 'String': case 'Boolean': case 'Symbol':
      if (!Object.is(a.valueOf(), b.valueOf())) return false;
      break;
    case 'RegExp': return String(a) === String(b);
    case 'Error':
      if (a.message !== b.message || a.name !== b.name) return false;
      break;
    case 'ArrayBuffer': return deepEqual(new Uint8Array(a), new Uint8Array(b), strict);
    case 'TypedArray': return a.constructor === b.constructor && a.length === b.length && a.every((x, i) => Object.is(x, b[i]) || !strict && x === b[i]);
    case 'Array':
      if (a.length !== b.length) return false;
      break;
    case 'Map': case 'Set':
      if (a.size !== b.size) return false;
      break;
  }
  // A pair that is being compared already, further out, counts as equal.
  let mates = seen.get(a);
  if (mates === undefined) seen.set(a, mates = new Set());
  if (mates.has(b)) return true;
  mates.add(b);
  const keys = keysOf(a, strict);
  const equal = keys.length === keysOf(b, strict).length
    && keys.every((key) => Object.prototype.propertyIsEnumerable.call(b, key) && deepEqual(a[key], b[key], strict, seen))
    && (k !== 'Map' && k !== 'Set' || sameItems([...a], [...b], k === 'Map', strict, seen));
  mates.delete(b);
  return equal;
}

// sameItems takes for each item the first equal one that is not taken yet.
function sameItems(a, b, pairs, strict, seen) {
  const left = new Set(b);
  return a.every((v) => {
    for (const w of left) {
      if (pairs ? deepEqual(v[0], w[0], strict, seen) && deepEqual(v[1], w[1], strict, seen) : deepEqual(v, w, strict, seen)) return left.delete(w);
    }
    return false;
  });
}

module.exports = { deepEqual };
