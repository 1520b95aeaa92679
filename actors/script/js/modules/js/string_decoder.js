const { Buffer } = require('buffer');
const { incomplete } = require('bytes');

class StringDecoder {
  #rest = Buffer.alloc(0);
  constructor(encoding = 'utf8') {
    if (!Buffer.isEncoding(encoding)) {
      const e = new TypeError(`Unknown encoding: ${encoding}`);
      e.code = 'ERR_UNKNOWN_ENCODING';
      throw e;
    }
    const name = encoding.toLowerCase();
    this.encoding = { 'utf-8': 'utf8', binary: 'latin1', ucs2: 'utf16le', 'ucs-2': 'utf16le', 'utf-16le': 'utf16le' }[name] || name;
  }
  write(bytes) {
    if (typeof bytes === 'string') return bytes;
    const b = this.#rest.length ? Buffer.concat([this.#rest, bytes]) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const n = incomplete(b, this.encoding);
    this.#rest = Buffer.from(b.subarray(b.length - n));
    return b.toString(this.encoding, 0, b.length - n);
  }
  end(bytes) {
    const s = bytes === undefined ? '' : this.write(bytes);
    const rest = this.#rest;
    this.#rest = Buffer.alloc(0);
    if (rest.length === 0) return s;
    return s + (this.encoding === 'utf8' ? '\ufffd' : rest.toString(this.encoding));
  }
}
module.exports = { StringDecoder };
