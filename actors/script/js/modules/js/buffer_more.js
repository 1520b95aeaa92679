// The methods of Buffer that few scripts use.
module.exports = function (prototype, { Bytes, fromString, encodingOf, outOfRange, clamp, isBytes, kMaxLength }) {
const { decode } = binding, { coded, badType } = require('errors');

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
    if (typeof value === 'string') value = fromString(value, encoding);
    if (!isBytes(value)) return Uint8Array.prototype.fill.call(this, value, start, end);
    start = clamp(start, 0, this.length);
    end = clamp(end, this.length, this.length);
    for (let i = start; i < end; i++) this[i] = value[(i - start) % value.length];
    return this;
  },
  indexOf(value, from, encoding) { return search(this, value, from, encoding, false); },
  lastIndexOf(value, from, encoding) { return search(this, value, from, encoding, true); },
  includes(value, from, encoding) { return search(this, value, from, encoding, false) !== -1; },
};

function checkOffset(b, offset, n) {
  if (typeof offset !== 'number') throw badType('offset', 'of type number', offset);
  if (!Number.isInteger(offset)) throw outOfRange('offset', 'an integer', offset);
  if (b.length < n) throw coded(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', 'Attempt to access memory outside buffer bounds');
  if (offset < 0 || offset + n > b.length) throw outOfRange('offset', `>= 0 and <= ${b.length - n}`, offset);
}

// view returns a DataView of a buffer.
const views = new WeakMap();
function view(b) {
  let v = views.get(b);
  if (v === undefined) views.set(b, v = new DataView(b.buffer, b.byteOffset, b.byteLength));
  return v;
}

function number(names, n, get, set, min, max) {
  for (const little of n === 1 ? [false] : [true, false]) {
    const end = n === 1 ? '' : little ? 'LE' : 'BE';
    const read = function (offset = 0) {
      checkOffset(this, offset, n);
      return view(this)[get](offset, little);
    };
    const write = function (value, offset = 0) {
      value = +value;
      if (min !== undefined && (value < min || value > max)) throw badNumber(value, min, max);
      checkOffset(this, offset, n);
      view(this)[set](offset, value, little);
      return offset + n;
    };
    for (const name of names) {
      methods[`read${name}${end}`] = read;
      methods[`write${name}${end}`] = write;
    }
  }
}

const badNumber = (value, min, max) => outOfRange('value', `>= ${min} and <= ${max}`, value);

number(['UInt8', 'Uint8'], 1, 'getUint8', 'setUint8', 0, 255);
number(['UInt16', 'Uint16'], 2, 'getUint16', 'setUint16', 0, 65535);
number(['UInt32', 'Uint32'], 4, 'getUint32', 'setUint32', 0, 4294967295);
number(['Int8'], 1, 'getInt8', 'setInt8', -128, 127);
number(['Int16'], 2, 'getInt16', 'setInt16', -32768, 32767);
number(['Int32'], 4, 'getInt32', 'setInt32', -2147483648, 2147483647);
number(['Float'], 4, 'getFloat32', 'setFloat32');
number(['Double'], 8, 'getFloat64', 'setFloat64');

for (const key of Object.keys(methods)) Object.defineProperty(prototype, key, { value: methods[key], writable: true, configurable: true });
};
