const { encode, decode, length: textLength } = binding;
const kMaxLength = 2 ** 31 - 1;

class Bytes extends Uint8Array {}

const encodings = { utf8: 'utf8', 'utf-8': 'utf8', hex: 'hex', base64: 'base64', base64url: 'base64url', latin1: 'latin1', binary: 'latin1', ascii: 'ascii', ucs2: 'utf16le', 'ucs-2': 'utf16le', utf16le: 'utf16le', 'utf-16le': 'utf16le' };

function encodingOf(name, fallback = 'utf8') {
  if (name === undefined || name === null || name === '') return fallback;
  const e = encodings[name] || encodings[`${name}`.toLowerCase()];
  if (e === undefined) throw coded(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${name}`);
  return e;
}

function coded(Class, code, message) {
  const e = new Class(message);
  e.code = code;
  return e;
}

function received(v) {
  if (v === null || v === undefined) return ` Received ${v}`;
  if (typeof v === 'function') return ` Received function ${v.name}`;
  if (typeof v === 'object') return v.constructor && v.constructor.name ? ` Received an instance of ${v.constructor.name}` : ` Received ${require('inspect').inspect(v, { depth: -1 })}`;
  let s = require('inspect').inspect(v);
  if (s.length > 28) s = `${s.slice(0, 25)}...`;
  return ` Received type ${typeof v} (${s})`;
}

const badType = (name, wanted, v) => coded(TypeError, 'ERR_INVALID_ARG_TYPE', `The ${name.includes(' ') ? name : `"${name}" argument`} must be ${wanted}.${received(v)}`);
const outOfRange = (name, range, v) => {
  let s = typeof v === 'bigint' ? `${v}n` : String(v);
  if (Number.isInteger(v) && Math.abs(v) > 2 ** 32 || typeof v === 'bigint' && (v > 2n ** 32n || v < -(2n ** 32n))) s = s.replace(/\B(?=(\d{3})+(?!\d))/g, '_');
  return coded(RangeError, 'ERR_OUT_OF_RANGE', `The value of "${name}" is out of range. It must be ${range}. Received ${s}`);
};

const wrap = (ab) => new Bytes(ab);
const isBytes = (v) => v instanceof Uint8Array;
const fromString = (s, encoding) => wrap(decode(s, encodingOf(encoding)));

function size(n) {
  if (typeof n !== 'number') throw badType('size', 'of type number', n);
  if (!(n >= 0 && n <= kMaxLength)) throw outOfRange('size', `>= 0 && <= ${kMaxLength}`, n);
  return n;
}

function Buffer(value, encoding, length) {
  if (typeof value === 'number') {
    if (typeof encoding === 'string') throw badType('string', 'of type string', value);
    return new Bytes(size(value));
  }
  return from(value, encoding, length);
}

// from can be called with new, too: scripts write new Buffer.from(x).
function from(value, encoding, length) {
  if (typeof value === 'string') return fromString(value, encoding);
  if (typeof value === 'object' && value !== null) {
    if (value instanceof ArrayBuffer) {
      let offset = encoding === undefined ? 0 : +encoding;
      if (Number.isNaN(offset)) offset = 0;
      const max = value.byteLength - offset;
      if (max < 0) throw coded(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', '"offset" is outside of buffer bounds');
      if (length === undefined) length = max;
      else if ((length = +length) > 0) {
        if (length > max) throw coded(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', '"length" is outside of buffer bounds');
      } else length = 0;
      return new Bytes(value, offset, length);
    }
    if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return new Bytes(value);
    const primitive = value.valueOf && value.valueOf();
    if (primitive !== null && primitive !== undefined && primitive !== value && (typeof primitive === 'string' || typeof primitive === 'object')) return from(primitive, encoding, length);
    if (value.length !== undefined || value.type === 'Buffer' && Array.isArray(value.data)) {
      const list = value.type === 'Buffer' && Array.isArray(value.data) ? value.data : value;
      if (typeof list.length !== 'number') return new Bytes(0);
      return new Bytes(Array.isArray(list) ? list : Array.from(list));
    }
    if (typeof value[Symbol.toPrimitive] === 'function') {
      const p = value[Symbol.toPrimitive]('string');
      if (typeof p === 'string') return fromString(p, encoding);
    }
  }
  throw badType('first argument', 'of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object', value);
}
Buffer.from = from;

Object.setPrototypeOf(Buffer, Uint8Array);
Buffer.prototype = Bytes.prototype;
Object.defineProperty(Bytes.prototype, 'constructor', { value: Buffer, writable: true, configurable: true });
Object.defineProperty(Buffer, Symbol.species, { get: () => Bytes, configurable: true });
Object.defineProperty(Bytes, 'name', { value: 'Buffer' });

Buffer.poolSize = 8192;
Buffer.alloc = function alloc(n, fill, encoding) {
  const b = new Bytes(size(n));
  return fill === undefined || fill === 0 || n === 0 ? b : b.fill(fill, encoding);
};
Buffer.allocUnsafe = function allocUnsafe(n) { return new Bytes(size(n)); };
Buffer.allocUnsafeSlow = function allocUnsafeSlow(n) { return new Bytes(size(n)); };
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
Buffer.copyBytesFrom = function copyBytesFrom(view, offset = 0, length = view.length) {
  const part = view.subarray(offset, offset + length);
  return new Bytes(part.buffer.slice(part.byteOffset, part.byteOffset + part.byteLength));
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

function search(b, value, from, encoding, last) {
  if (typeof from === 'string') {
    encoding = from;
    from = undefined;
  }
  from = +from;
  if (Number.isNaN(from)) from = last ? b.length : 0;
  if (from < 0) from += b.length;
  if (typeof value === 'number') value = new Bytes([value]);
  else if (typeof value === 'string') value = fromString(value, encoding);
  else if (!isBytes(value)) throw badType('value', 'one of type number or string or an instance of Buffer or Uint8Array', value);
  if (from < 0) {
    if (last) return -1;
    from = 0;
  }
  return binding.search(b, value, Math.trunc(Math.min(from, b.length)), last);
}

const methods = {
  toString(encoding, start, end) {
    if (arguments.length === 0) return encode(this, 'utf8', 0, this.length);
    start = clamp(start, 0, this.length);
    end = clamp(end, this.length, this.length);
    return end <= start ? '' : encode(this, encodingOf(encoding), start, end);
  },
  toJSON() { return { type: 'Buffer', data: Array.from(this) }; },
  equals(other) {
    if (!isBytes(other)) throw badType('otherBuffer', 'an instance of Buffer or Uint8Array', other);
    return this === other || this.length === other.length && binding.compare(this, other) === 0;
  },
  compare(target, ts = 0, te = target && target.length, ss = 0, se = this.length) {
    if (!isBytes(target)) throw badType('target', 'an instance of Buffer or Uint8Array', target);
    return binding.compare(this.subarray(ss, Math.max(ss, se)), target.subarray(ts, Math.max(ts, te)));
  },
  write(string, offset, length, encoding) {
    if (typeof string !== 'string') throw badType('argument', 'of type string', string);
    if (typeof offset === 'string') [offset, encoding] = [0, offset];
    else if (typeof length === 'string') [length, encoding] = [undefined, length];
    offset = offset === undefined ? 0 : offset;
    if (!(offset >= 0 && offset <= this.length)) throw outOfRange('offset', `>= 0 && <= ${this.length}`, offset);
    const left = this.length - offset;
    length = length === undefined ? left : Math.min(length, left);
    const e = encodingOf(encoding);
    let bytes = new Uint8Array(decode(string, e));
    if (bytes.length > length) {
      // Half a character is not written.
      if (e === 'utf8') while (length > 0 && (bytes[length] & 0xc0) === 0x80) length--;
      if (e === 'utf16le') length -= length % 2;
      bytes = bytes.subarray(0, length);
    }
    this.set(bytes, offset);
    return bytes.length;
  },
  copy(target, ts, ss, se) {
    if (!isBytes(target)) throw badType('target', 'an instance of Buffer or Uint8Array', target);
    ts = clamp(ts, 0, kMaxLength);
    ss = clamp(ss, 0, kMaxLength);
    if (ss > this.length) throw outOfRange('sourceStart', `>= 0 && <= ${this.length}`, ss);
    se = clamp(se, this.length, this.length);
    if (ts >= target.length || ss >= se) return 0;
    const part = this.subarray(ss, Math.min(se, ss + target.length - ts));
    target.set(part, ts);
    return part.length;
  },
  fill(value, start, end, encoding) {
    if (typeof start === 'string') [start, encoding] = [0, start];
    else if (typeof end === 'string') [end, encoding] = [undefined, end];
    start = start === undefined ? 0 : start;
    end = end === undefined ? this.length : end;
    if (!(start >= 0 && start <= this.length)) throw outOfRange('offset', `>= 0 && <= ${this.length}`, start);
    if (!(end >= 0 && end <= this.length)) throw outOfRange('end', `>= 0 && <= ${this.length}`, end);
    if (start >= end) return this;
    if (typeof value === 'string') {
      const bytes = fromString(value, encoding);
      if (value.length > 0 && bytes.length === 0) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'value' is invalid. Received '${value}'`);
      value = bytes.length === 0 ? 0 : bytes;
    } else if (typeof value === 'boolean') value = +value;
    if (isBytes(value)) {
      if (value.length === 0) throw coded(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'value' is invalid. Received ${require('inspect').inspect(value)}`);
      for (let i = start, j = 0; i < end; i++, j++) {
        if (j === value.length) j = 0;
        this[i] = value[j];
      }
      return this;
    }
    Uint8Array.prototype.fill.call(this, value & 255, start, end);
    return this;
  },
  slice, subarray: slice,
  indexOf(value, from, encoding) { return search(this, value, from, encoding, false); },
  lastIndexOf(value, from, encoding) { return search(this, value, from, encoding, true); },
  includes(value, from, encoding) { return search(this, value, from, encoding, false) !== -1; },
  swap16() { return swap(this, 2); },
  swap32() { return swap(this, 4); },
  swap64() { return swap(this, 8); },
  toLocaleString(...args) { return this.toString(...args); },
  [Symbol.for('nodejs.util.inspect.custom')](depth, options) {
    const max = module.exports.INSPECT_MAX_BYTES;
    const n = Math.min(max, this.length);
    let s = this.hexSlice(0, n).replace(/(.{2})/g, '$1 ').trim();
    if (this.length > max) s += ` ... ${this.length - max} more byte${this.length - max > 1 ? 's' : ''}`;
    const keys = this.length > 10000 ? [] : Object.keys(this).slice(this.length);
    if (keys.length) {
      const o = Object.create(null);
      for (const k of keys) o[k] = this[k];
      s += (s === '' ? '' : ', ') + require('inspect').inspect(o, { ...options, breakLength: Infinity, compact: true }).slice(27, -2);
    }
    return `<${this.constructor.name} ${s}>`;
  },
};
methods.inspect = methods[Symbol.for('nodejs.util.inspect.custom')];

function swap(b, n) {
  if (b.length % n !== 0) throw coded(RangeError, 'ERR_INVALID_BUFFER_SIZE', `Buffer size must be a multiple of ${n * 8}-bits`);
  for (let i = 0; i < b.length; i += n) Uint8Array.prototype.reverse.call(new Uint8Array(b.buffer, b.byteOffset + i, n));
  return b;
}

for (const e of ['utf8', 'hex', 'base64', 'base64url', 'latin1', 'ascii', 'ucs2']) {
  methods[`${e}Slice`] = function (start = 0, end = this.length) { return this.toString(e, start, end); };
  methods[`${e}Write`] = function (s, offset, length) { return this.write(s, offset, length, e); };
}

function checkOffset(b, offset, n) {
  if (typeof offset !== 'number') throw badType('offset', 'of type number', offset);
  if (!Number.isInteger(offset)) throw outOfRange('offset', 'an integer', offset);
  if (b.length < n) throw coded(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', 'Attempt to access memory outside buffer bounds');
  if (offset < 0 || offset + n > b.length) throw outOfRange('offset', `>= 0 and <= ${b.length - n}`, offset);
}

// view is the one for numbers of a buffer.
const views = new WeakMap();
function view(b) {
  let v = views.get(b);
  if (v === undefined) views.set(b, v = new DataView(b.buffer, b.byteOffset, b.byteLength));
  return v;
}

function number(names, n, get, set, min, max) {
  for (const little of n === 1 ? [false] : [true, false]) {
    const end = n === 1 ? '' : little ? 'LE' : 'BE';
    for (const name of names) {
      methods[`read${name}${end}`] = function (offset = 0) {
        checkOffset(this, offset, n);
        return view(this)[get](offset, little);
      };
      methods[`write${name}${end}`] = function (value, offset = 0) {
        if (typeof min === 'bigint') {
          if (typeof value !== 'bigint') throw badType('value', 'of type bigint', value);
        } else value = +value;
        if (min !== undefined && (value < min || value > max)) throw badNumber(value, n, min, max);
        checkOffset(this, offset, n);
        view(this)[set](offset, value, little);
        return offset + n;
      };
    }
  }
}

function badNumber(value, n, min, max) {
  const b = typeof min === 'bigint' ? 'n' : '';
  const bits = n * 8;
  let range;
  if (n <= 2) range = `>= ${min} and <= ${max}`;
  else if (n === 4 && b === '') range = `>= ${min} and <= ${max}`;
  else range = min === 0 || min === 0n ? `>= 0${b} and < 2${b} ** ${bits}${b}` : `>= -(2${b} ** ${bits - 1}${b}) and < 2${b} ** ${bits - 1}${b}`;
  return outOfRange('value', range, value);
}

number(['UInt8', 'Uint8'], 1, 'getUint8', 'setUint8', 0, 255);
number(['UInt16', 'Uint16'], 2, 'getUint16', 'setUint16', 0, 65535);
number(['UInt32', 'Uint32'], 4, 'getUint32', 'setUint32', 0, 4294967295);
number(['Int8'], 1, 'getInt8', 'setInt8', -128, 127);
number(['Int16'], 2, 'getInt16', 'setInt16', -32768, 32767);
number(['Int32'], 4, 'getInt32', 'setInt32', -2147483648, 2147483647);
number(['Float'], 4, 'getFloat32', 'setFloat32');
number(['Double'], 8, 'getFloat64', 'setFloat64');
number(['BigUInt64', 'BigUint64'], 8, 'getBigUint64', 'setBigUint64', 0n, 2n ** 64n - 1n);
number(['BigInt64'], 8, 'getBigInt64', 'setBigInt64', -(2n ** 63n), 2n ** 63n - 1n);

// Integers of one to six bytes.
for (const signed of [false, true]) {
  for (const little of [true, false]) {
    const end = little ? 'LE' : 'BE';
    const read = function (offset, n) {
      if (offset === undefined) throw badType('offset', 'of type number', offset);
      checkLength(n);
      checkOffset(this, offset, n);
      let v = 0;
      for (let i = 0; i < n; i++) v = v * 256 + this[little ? offset + n - 1 - i : offset + i];
      return signed && v >= 2 ** (8 * n - 1) ? v - 2 ** (8 * n) : v;
    };
    const write = function (value, offset, n) {
      checkLength(n);
      value = +value;
      const max = signed ? 2 ** (8 * n - 1) - 1 : 2 ** (8 * n) - 1, min = signed ? -max - 1 : 0;
      if (value < min || value > max) throw badNumber(value, n, min, max);
      checkOffset(this, offset, n);
      let v = Math.trunc(value) || 0;
      if (v < 0) v += 2 ** (8 * n);
      for (let i = 0; i < n; i++) {
        this[little ? offset + i : offset + n - 1 - i] = v % 256;
        v = Math.floor(v / 256);
      }
      return offset + n;
    };
    for (const name of signed ? ['Int'] : ['UInt', 'Uint']) {
      methods[`read${name}${end}`] = read;
      methods[`write${name}${end}`] = write;
    }
  }
}

function checkLength(n) {
  if (typeof n !== 'number') throw badType('byteLength', 'of type number', n);
  if (!(n >= 1 && n <= 6 && Number.isInteger(n))) throw outOfRange('byteLength', '>= 1 and <= 6', n);
}

for (const key of Reflect.ownKeys(methods)) Object.defineProperty(Bytes.prototype, key, { value: methods[key], writable: true, configurable: true });
Object.defineProperty(Bytes.prototype, 'parent', { get() { return this.buffer; }, configurable: true });
Object.defineProperty(Bytes.prototype, 'offset', { get() { return this.byteOffset; }, configurable: true });

function domError(message) {
  const e = new Error(message);
  e.name = 'InvalidCharacterError';
  e.code = 5;
  return e;
}

class Blob { constructor() { throw new Error('Blob is not available in the embedded engine'); } }

module.exports = {
  Buffer, SlowBuffer: Buffer.allocUnsafeSlow, kMaxLength, kStringMaxLength: 2 ** 29 - 24, INSPECT_MAX_BYTES: 50, Blob,
  constants: { MAX_LENGTH: kMaxLength, MAX_STRING_LENGTH: 2 ** 29 - 24 },
  btoa(s) {
    s = `${s}`;
    for (let i = 0; i < s.length; i++) if (s.charCodeAt(i) > 255) throw domError('Invalid character');
    return fromString(s, 'latin1').toString('base64');
  },
  atob(s) {
    s = `${s}`.replace(/[\t\n\f\r ]/g, '');
    if (s.length % 4 === 0) s = s.replace(/==?$/, '');
    if (s.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(s)) throw domError('The string to be decoded is not correctly encoded.');
    return fromString(s, 'base64').toString('latin1');
  },
  isUtf8: (b) => binding.valid(b), isAscii: (b) => !Array.prototype.some.call(b, (x) => x > 127),
  transcode: (b, a, z) => fromString(from(b).toString(a), z),
};
