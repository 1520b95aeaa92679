// Encodings of text.
class TextEncoder {
  get encoding() { return 'utf-8'; }
  encode(s = '') { return new Uint8Array(binding.decode(`${s}`, 'utf8')); }
  encodeInto(s, to) {
    s = `${s}`;
    let read = 0, written = 0;
    for (const ch of s) {
      const b = new Uint8Array(binding.decode(ch, 'utf8'));
      if (written + b.length > to.length) break;
      to.set(b, written);
      written += b.length;
      read += ch.length;
    }
    return { read, written };
  }
}

const labels = { 'utf-8': 'utf8', utf8: 'utf8', 'unicode-1-1-utf-8': 'utf8', 'utf-16le': 'utf16le', 'utf-16': 'utf16le', latin1: 'latin1', 'iso-8859-1': 'latin1', ascii: 'latin1', 'us-ascii': 'latin1', 'windows-1252': 'latin1' };
const shown = { utf8: 'utf-8', utf16le: 'utf-16le', latin1: 'windows-1252' };

class TextDecoder {
  #encoding;
  #fatal;
  #keepMark;
  #rest = new Uint8Array(0);
  #started = false;
  constructor(label = 'utf-8', options = {}) {
    const e = labels[`${label}`.trim().toLowerCase()];
    if (e === undefined) {
      const err = new RangeError(`The "${label}" encoding is not supported`);
      err.code = 'ERR_ENCODING_NOT_SUPPORTED';
      throw err;
    }
    this.#encoding = e;
    this.#fatal = !!(options && options.fatal);
    this.#keepMark = !!(options && options.ignoreBOM);
  }
  get encoding() { return shown[this.#encoding]; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#keepMark; }
  decode(input, options) {
    const more = !!(options && options.stream);
    let b = input === undefined ? new Uint8Array(0) : input instanceof ArrayBuffer ? new Uint8Array(input) : new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
    if (this.#rest.length) {
      const both = new Uint8Array(this.#rest.length + b.length);
      both.set(this.#rest);
      both.set(b, this.#rest.length);
      b = both;
      this.#rest = new Uint8Array(0);
    }
    if (more) {
      const n = binding.incomplete(b, this.#encoding);
      if (n > 0) {
        this.#rest = b.slice(b.length - n);
        b = b.subarray(0, b.length - n);
      }
    }
    if (this.#fatal && this.#encoding === 'utf8' && !binding.valid(b)) {
      const err = new TypeError('The encoded data was not valid for encoding utf-8');
      err.code = 'ERR_ENCODING_INVALID_ENCODED_DATA';
      throw err;
    }
    let s = binding.encode(b, this.#encoding, 0, b.length);
    if (!this.#started && !this.#keepMark && this.#encoding !== 'latin1' && s.charCodeAt(0) === 0xfeff) s = s.slice(1);
    this.#started = more && (this.#started || b.length > 0);
    return s;
  }
}
module.exports = { TextEncoder, TextDecoder };
