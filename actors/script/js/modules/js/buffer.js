const { encode, decode, length: textLength } = binding, { coded, badType } = require('errors');
const kMaxLength = 2 ** 32;
// No guard bounds what Buffer asks for.
const allocMax = 256 * 2 ** 20;

class Bytes extends Uint8Array {}

const encodings = { utf8: 'utf8', 'utf-8': 'utf8', hex: 'hex', base64: 'base64', base64url: 'base64url', latin1: 'latin1', binary: 'latin1', ascii: 'ascii', ucs2: 'utf16le', 'ucs-2': 'utf16le', utf16le: 'utf16le', 'utf-16le': 'utf16le' };

function encodingOf(name, fallback = 'utf8') {
  if (name === undefined || name === null || name === '') return fallback;
  const e = encodings[name] || encodings[`${name}`.toLowerCase()];
  if (e === undefined) throw coded(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${name}`);
  return e;
}

const outOfRange = (name, range, v) => coded(RangeError, 'ERR_OUT_OF_RANGE', `The value of "${name}" is out of range. It must be ${range}. Received ${String(v)}`);

function define(object, methods) {
  for (const key of Object.getOwnPropertyNames(methods)) Object.defineProperty(object, key, { value: methods[key], writable: true, configurable: true });
  for (const key of Object.getOwnPropertySymbols(methods)) Object.defineProperty(object, key, { value: methods[key], writable: true, configurable: true });
}

const wrap = (ab) => new Bytes(ab);
const isBytes = (v) => v instanceof Uint8Array;
const fromString = (s, encoding) => wrap(decode(s, encodingOf(encoding)));

function size(n) {
  if (typeof n !== 'number') throw badType('size', 'of type number', n);
  if (!(n >= 0 && n <= kMaxLength)) throw outOfRange('size', `>= 0 && <= ${kMaxLength}`, n);
  if (n > allocMax) throw coded(RangeError, 'ERR_MEMORY_ALLOCATION_FAILED', 'Array buffer allocation failed');
  return n;
}

function Buffer(value, encoding, length) {
  if (typeof value === 'number') {
    if (typeof encoding === 'string') throw badType('string', 'of type string', value);
    return new Bytes(size(value));
  }
  return from(value, encoding, length);
}

// from is a constructor, too: scripts write new Buffer.from(x).
function from(value, encoding, length) {
  if (typeof value === 'string') return fromString(value, encoding);
  if (typeof value === 'object' && value !== null) {
    if (value instanceof ArrayBuffer) return new Bytes(value, encoding, length);
    if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return new Bytes(value);
    const primitive = value.valueOf && value.valueOf();
    if (typeof primitive === 'string') return fromString(primitive, encoding);
    if (value.type === 'Buffer' && Array.isArray(value.data)) value = value.data;
    if (value.length !== undefined) return new Bytes(Array.isArray(value) ? value : Array.from(value));
  }
  throw badType('value', 'of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object', value);
}
Buffer.from = from;

Object.setPrototypeOf(Buffer, Uint8Array);
Buffer.prototype = Bytes.prototype;
Object.defineProperty(Bytes.prototype, 'constructor', { value: Buffer, writable: true, configurable: true });
Object.defineProperty(Buffer, Symbol.species, { get: () => Bytes, configurable: true });
Object.defineProperty(Bytes, 'name', { value: 'Buffer' });

Buffer.alloc = function alloc(n, fill, encoding) {
  const b = new Bytes(size(n));
  return fill === undefined || fill === 0 || n === 0 ? b : b.fill(fill, encoding);
};
Buffer.allocUnsafe = function allocUnsafe(n) { return new Bytes(size(n)); };
Buffer.allocUnsafeSlow = Buffer.allocUnsafe;
Buffer.isBuffer = function isBuffer(b) { return b instanceof Bytes; };
Buffer.isEncoding = function isEncoding(e) { return typeof e === 'string' && e !== '' && encodings[e.toLowerCase()] !== undefined; };
Buffer.byteLength = function byteLength(v, encoding) {
  if (typeof v !== 'string') {
    if (ArrayBuffer.isView(v) || v instanceof ArrayBuffer) return v.byteLength;
    throw badType('string', 'of type string or an instance of Buffer or ArrayBuffer', v);
  }
  return textLength(v, encodings[`${encoding}`.toLowerCase()] || 'utf8');
};
Buffer.compare = function compare(a, b) {
  if (!isBytes(a)) throw badType('buf1', 'an instance of Buffer or Uint8Array', a);
  if (!isBytes(b)) throw badType('buf2', 'an instance of Buffer or Uint8Array', b);
  return binding.compare(a, b);
};
Buffer.concat = function concat(list, total) {
  if (!Array.isArray(list)) throw badType('list', 'an instance of Array', list);
  list.forEach((b, i) => {
    if (!isBytes(b)) throw badType(`list[${i}]`, 'an instance of Buffer or Uint8Array', b);
  });
  if (total === undefined) total = list.reduce((n, b) => n + b.length, 0);
  const out = new Bytes(size(total));
  let at = 0;
  for (const b of list) {
    if (at >= total) break;
    out.set(b.length > total - at ? b.subarray(0, total - at) : b, at);
    at += b.length;
  }
  return out;
};
const clamp = (v, fallback, max) => {
  if (v === undefined) return fallback;
  v = Math.trunc(+v) || 0;
  return v < 0 ? 0 : Math.min(v, max);
};

function slice(start, end) {
  const n = this.length;
  const at = (v, fallback) => {
    if (v === undefined) return fallback;
    v = Math.trunc(+v) || 0;
    return v < 0 ? Math.max(v + n, 0) : Math.min(v, n);
  };
  start = at(start, 0);
  end = Math.max(at(end, n), start);
  return new Bytes(this.buffer, this.byteOffset + start, end - start);
}

const methods = {
  toString(encoding, start, end) {
    if (encoding === undefined && start === undefined && end === undefined) return encode(this, 'utf8', 0, this.length);
    start = clamp(start, 0, this.length);
    end = clamp(end, this.length, this.length);
    return end <= start ? '' : encode(this, encodingOf(encoding), start, end);
  },
  toJSON() { return { type: 'Buffer', data: Array.from(this) }; },
  equals(other) {
    if (!isBytes(other)) throw badType('otherBuffer', 'an instance of Buffer or Uint8Array', other);
    return this === other || this.length === other.length && binding.compare(this, other) === 0;
  },
  slice, subarray: slice,
  [Symbol.for('nodejs.util.inspect.custom')]() {
    const left = this.length - 50;
    const s = binding.spaced(this, Math.min(50, this.length)) + (left > 0 ? ` ... ${left} more byte${left > 1 ? 's' : ''}` : '');
    return `<${this.constructor.name} ${s}>`;
  },
};
// The other methods take more memory than all of these, so they are loaded when one is missing.
const rarer = ['compare', 'copy', 'fill', 'indexOf', 'lastIndexOf', 'includes'];
binding.later(Bytes.prototype, (name) => {
  if (!name.startsWith('read') && !name.startsWith('write') && !rarer.includes(name)) return false;
  require('buffer_more')(Bytes.prototype, { Bytes, fromString, encodingOf, outOfRange, clamp, isBytes, kMaxLength });
  return Uint8Array.prototype;
});
define(Bytes.prototype, methods);

module.exports = {
  Buffer, kMaxLength, constants: { MAX_LENGTH: kMaxLength },
  btoa(s) {
    s = `${s}`;
    for (let i = 0; i < s.length; i++) if (s.charCodeAt(i) > 255) throw coded(Error, 'InvalidCharacterError', 'Invalid character');
    return fromString(s, 'latin1').toString('base64');
  },
  atob(s) {
    s = `${s}`.replace(/[\t\n\f\r ]/g, '');
    if (s.length % 4 === 0) s = s.replace(/==?$/, '');
    if (s.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(s)) throw coded(Error, 'InvalidCharacterError', 'The string to be decoded is not correctly encoded.');
    return fromString(s, 'base64').toString('latin1');
  },
};
