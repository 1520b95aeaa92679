const { Buffer } = require('buffer');

function coded(Class, code, message) {
  const e = new Class(message);
  e.code = code;
  return e;
}

const later = (done, f) => {
  let value;
  try {
    value = f();
  } catch (e) {
    require('process').nextTick(done, e);
    return;
  }
  require('process').nextTick(done, null, value);
};

function randomBytes(n, done) {
  if (typeof n !== 'number') throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', `The "size" argument must be of type number. Received ${typeof n}`);
  if (!(n >= 0 && n <= 2147483647)) throw coded(RangeError, 'ERR_OUT_OF_RANGE', `The value of "size" is out of range. It must be >= 0 && <= 2147483647. Received ${n}`);
  if (done) return later(done, () => Buffer.from(binding.random(n)));
  return Buffer.from(binding.random(n));
}

function randomInt(min, max, done) {
  if (max === undefined || typeof max === 'function') [min, max, done] = [0, min, max];
  if (!Number.isSafeInteger(min)) throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', `The "min" argument must be a safe integer. Received ${min}`);
  if (!Number.isSafeInteger(max)) throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', `The "max" argument must be a safe integer. Received ${max}`);
  if (max <= min) throw coded(RangeError, 'ERR_OUT_OF_RANGE', `The value of "max" is out of range. It must be greater than the value of "min" (${min}). Received ${max}`);
  if (max - min > 2 ** 48 - 1) throw coded(RangeError, 'ERR_OUT_OF_RANGE', `The value of "max - min" is out of range. It must be <= ${2 ** 48 - 1}. Received ${max - min}`);
  const n = min + binding.integer(max - min);
  if (done) return later(done, () => n);
  return n;
}

const toBytes = (v, encoding) => {
  if (typeof v === 'string') return Buffer.from(v, encoding);
  if (ArrayBuffer.isView(v)) return Buffer.from(v.buffer, v.byteOffset, v.byteLength);
  if (v instanceof ArrayBuffer) return Buffer.from(v);
  throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView.');
};

class Hash {
  #h;
  #done = false;
  constructor(h) { this.#h = h; }
  update(data, encoding) {
    if (this.#done) throw coded(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
    this.#h.update(toBytes(data, encoding));
    return this;
  }
  digest(encoding) {
    if (this.#done) throw coded(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
    this.#done = true;
    const b = Buffer.from(this.#h.digest());
    return encoding === undefined || encoding === 'buffer' ? b : b.toString(encoding);
  }
}
class Hmac extends Hash {}

const normal = (name) => `${name}`.toLowerCase().replace(/^(rsa-)?sha-?(\d+)$/, 'sha$2');
const absent = (what) => () => {
  throw coded(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', `crypto.${what} is not available in the embedded engine; to run the script in Node.js, set "troupe": {"engine": "node"} in package.json`);
};

const crypto = {
  randomBytes, randomInt, pseudoRandomBytes: randomBytes,
  randomUUID: () => binding.uuid(),
  randomFillSync(b, offset = 0, size = b.byteLength - offset) {
    const target = new Uint8Array(b.buffer || b, (b.byteOffset || 0) + offset, size);
    target.set(new Uint8Array(binding.random(size)));
    return b;
  },
  randomFill(b, ...args) {
    const done = args.pop();
    later(done, () => crypto.randomFillSync(b, ...args));
  },
  getHashes: () => [...binding.hashes],
  createHash(name) {
    const h = binding.hash(normal(name));
    if (h === undefined) throw coded(Error, 'ERR_OSSL_EVP_UNSUPPORTED', 'Digest method not supported');
    return new Hash(h);
  },
  createHmac(name, key) {
    const h = binding.hash(normal(name), toBytes(key));
    if (h === undefined) throw coded(Error, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${name}`);
    return new Hmac(h);
  },
  hash: (name, data, encoding = 'hex') => crypto.createHash(name).update(data).digest(encoding),
  timingSafeEqual(a, b) {
    a = toBytes(a);
    b = toBytes(b);
    if (a.length !== b.length) throw coded(RangeError, 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH', 'Input buffers must have the same byte length');
    return binding.equal(a, b);
  },
  Hash, Hmac,
};
crypto.webcrypto = {
  getRandomValues: (a) => crypto.randomFillSync(a),
  randomUUID: crypto.randomUUID,
};
crypto.getRandomValues = crypto.webcrypto.getRandomValues;
for (const what of ['createCipheriv', 'createDecipheriv', 'createSign', 'createVerify', 'createDiffieHellman', 'createECDH', 'generateKeyPair', 'generateKeyPairSync', 'pbkdf2', 'pbkdf2Sync', 'scrypt', 'scryptSync', 'hkdf', 'hkdfSync', 'sign', 'verify', 'publicEncrypt', 'privateDecrypt', 'createPrivateKey', 'createPublicKey', 'createSecretKey']) {
  crypto[what] = absent(what);
}
module.exports = crypto;
