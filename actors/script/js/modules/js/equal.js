// Comparison of values as assert.deepEqual and deepStrictEqual do it.
const { kind } = require('inspect');

const enumerable = (o, strict) => {
  const keys = Object.keys(o);
  if (strict) for (const s of Object.getOwnPropertySymbols(o)) if (Object.prototype.propertyIsEnumerable.call(o, s)) keys.push(s);
  return keys;
};

function deepEqual(a, b, strict, seen = new Map()) {
  if (a === b) return a !== 0 || !strict || Object.is(a, b);
  const isObject = (v) => v !== null && typeof v === 'object';
  if (strict) {
    if (!isObject(a)) return typeof a === 'number' && Number.isNaN(a) && Number.isNaN(b);
    if (!isObject(b)) return false;
    if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  } else {
    if (!isObject(a)) return !isObject(b) && typeof b !== 'function' && (a == b || Number.isNaN(a) && Number.isNaN(b));
    if (!isObject(b)) return false;
  }
  const k = kind(a);
  if (k !== kind(b)) return false;
  switch (k) {
    case 'Array':
      if (a.length !== b.length) return false;
      break;
    case 'Date':
      if (!Object.is(a.getTime(), b.getTime())) return false;
      break;
    case 'RegExp':
      if (a.source !== b.source || a.flags !== b.flags || a.lastIndex !== b.lastIndex) return false;
      break;
    case 'Error':
      if (a.message !== b.message || a.name !== b.name) return false;
      if (!deepEqual(a.cause, b.cause, strict, seen) || !deepEqual(a.errors, b.errors, strict, seen)) return false;
      break;
    case 'Number': case 'String': case 'Boolean': case 'Symbol': case 'BigInt':
      if (!Object.is(a.valueOf(), b.valueOf())) return false;
      break;
    case 'ArrayBuffer':
      if (!bytesEqual(new Uint8Array(a), new Uint8Array(b))) return false;
      break;
    case 'TypedArray':
      if (a.length !== b.length || Object.prototype.toString.call(a) !== Object.prototype.toString.call(b)) return false;
      for (let i = 0; i < a.length; i++) if (!(strict ? Object.is(a[i], b[i]) : a[i] === b[i] || Number.isNaN(a[i]) && Number.isNaN(b[i]))) return false;
      break;
    case 'DataView':
      if (!bytesEqual(new Uint8Array(a.buffer, a.byteOffset, a.byteLength), new Uint8Array(b.buffer, b.byteOffset, b.byteLength))) return false;
      break;
    case 'Map': case 'Set':
      if (a.size !== b.size) return false;
      break;
    case 'Promise': case 'WeakMap': case 'WeakSet': return false;
  }
  let mates = seen.get(a);
  if (mates === undefined) seen.set(a, mates = new Set());
  // What is compared already, further out, counts as equal.
  if (mates.has(b)) return true;
  mates.add(b);
  const same = content(a, b, k, strict, seen);
  mates.delete(b);
  return same;
}

function bytesEqual(a, b) {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function content(a, b, k, strict, seen) {
  if (k !== 'TypedArray' || a.length <= 10000) {
    const keys = enumerable(a, strict);
    if (keys.length !== enumerable(b, strict).length) return false;
    for (const key of keys) if (!Object.prototype.propertyIsEnumerable.call(b, key)) return false;
    if (k !== 'TypedArray') for (const key of keys) if (!deepEqual(a[key], b[key], strict, seen)) return false;
  }
  if (k === 'Set') {
    const left = new Set(b);
    for (const v of a) {
      if (left.delete(v)) continue;
      if (strict && (v === null || typeof v !== 'object')) return false;
      let found = false;
      for (const w of left) {
        if (deepEqual(v, w, strict, seen)) {
          left.delete(w);
          found = true;
          break;
        }
      }
      if (!found) return false;
    }
  } else if (k === 'Map') {
    const left = new Map(b);
    for (const [key, v] of a) {
      if (left.has(key)) {
        if (deepEqual(v, left.get(key), strict, seen)) {
          left.delete(key);
          continue;
        }
        if (strict) return false;
      }
      if (strict && (key === null || typeof key !== 'object')) return false;
      let found = false;
      for (const [other, w] of left) {
        if (deepEqual(key, other, strict, seen) && deepEqual(v, w, strict, seen)) {
          left.delete(other);
          found = true;
          break;
        }
      }
      if (!found) return false;
    }
  }
  return true;
}

module.exports = { deepEqual };
