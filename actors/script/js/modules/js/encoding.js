class TextEncoder {
  get encoding() { return 'utf-8'; }
  encode(s = '') { return new Uint8Array(binding.decode(`${s}`, 'utf8')); }
}

const labels = { 'utf-8': 'utf8', utf8: 'utf8', 'utf-16le': 'utf16le', latin1: 'latin1', ascii: 'latin1' };

class TextDecoder {
  #encoding;
  #fatal;
  constructor(label = 'utf-8', options = {}) {
    this.encoding = `${label}`.toLowerCase();
    this.#encoding = labels[this.encoding];
    this.#fatal = !!options.fatal;
    if (this.#encoding === undefined) throw new RangeError(`The "${label}" encoding is not supported`);
  }
  decode(input) {
    const b = input === undefined ? new Uint8Array(0) : input instanceof ArrayBuffer ? new Uint8Array(input) : new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
    if (this.#fatal && this.#encoding === 'utf8' && !binding.valid(b)) throw new TypeError('The encoded data was not valid for encoding utf-8');
    const s = binding.encode(b, this.#encoding, 0, b.length);
    return this.#encoding !== 'latin1' && s.charCodeAt(0) === 0xfeff ? s.slice(1) : s;
  }
}
module.exports = { TextEncoder, TextDecoder };
