const { Buffer } = require('buffer'), { coded } = require('errors');

function randomBytes(n, done) {
  if (typeof n !== 'number' || !(n >= 0 && n <= 2147483647)) throw coded(RangeError, 'ERR_OUT_OF_RANGE', `The value of "size" is out of range. Received ${n}`);
  const b = Buffer.from(binding.random(n));
  if (!done) return b;
  require('process').nextTick(done, null, b);
}

function randomInt(min, max) {
  if (max === undefined) [min, max] = [0, min];
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max) || max <= min || max - min > 2 ** 48 - 1) throw coded(RangeError, 'ERR_OUT_OF_RANGE', `There is no random integer from ${min} to ${max}`);
  return min + binding.integer(max - min);
}

const toBytes = (v, encoding) => {
  if (typeof v === 'string') return Buffer.from(v, encoding);
  if (ArrayBuffer.isView(v)) return Buffer.from(v.buffer, v.byteOffset, v.byteLength);
  throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView.');
};

class Hash {
  #h;
  constructor(h) { this.#h = h; }
  update(data, encoding) {
    this.#h.update(toBytes(data, encoding));
    return this;
  }
  digest(encoding) {
    const b = Buffer.from(this.#h.digest());
    return encoding === undefined || encoding === 'buffer' ? b : b.toString(encoding);
  }
}

function hash(name, key) {
  const h = binding.hash(`${name}`.toLowerCase().replace(/^(rsa-)?sha-?(\d+)$/, 'sha$2'), key);
  if (h === undefined) throw coded(Error, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${name}`);
  return new Hash(h);
}

const randomFillSync = (a) => {
  new Uint8Array(a.buffer || a, a.byteOffset || 0, a.byteLength).set(new Uint8Array(binding.random(a.byteLength)));
  return a;
};
const randomUUID = () => binding.uuid();

module.exports = {
  randomBytes, randomInt, randomUUID, randomFillSync, getRandomValues: randomFillSync, webcrypto: { getRandomValues: randomFillSync, randomUUID },
  createHash: (name) => hash(name), createHmac: (name, key) => hash(name, toBytes(key)),
};
