const { inspect } = require('inspect'), { format, formatWithOptions } = require('format');

const custom = Symbol.for('nodejs.util.promisify.custom');

function needFunction(f, name) {
  if (typeof f !== 'function') {
    const e = new TypeError(`The "${name}" argument must be of type function. Received ${f === null || f === undefined ? f : `type ${typeof f} (${inspect(f)})`}`);
    e.code = 'ERR_INVALID_ARG_TYPE';
    throw e;
  }
}

function promisify(original) {
  needFunction(original, 'original');
  if (original[custom]) {
    needFunction(original[custom], 'util.promisify.custom');
    return Object.defineProperty(original[custom], custom, { value: original[custom], configurable: true });
  }
  function fn(...args) {
    return new Promise((resolve, reject) => {
      Reflect.apply(original, this, [...args, (err, value) => err ? reject(err) : resolve(value)]);
    });
  }
  Object.setPrototypeOf(fn, Object.getPrototypeOf(original));
  Object.defineProperty(fn, custom, { value: fn, configurable: true });
  return Object.defineProperties(fn, Object.getOwnPropertyDescriptors(original));
}
promisify.custom = custom;

function callbackify(original) {
  needFunction(original, 'original');
  return function (...args) {
    const done = args.pop();
    needFunction(done, 'last argument');
    const { nextTick } = require('process');
    Reflect.apply(original, this, args).then(
      (value) => nextTick(done.bind(this), null, value),
      (err) => {
        if (!err) {
          const e = new Error('Promise was rejected with falsy value');
          e.code = 'ERR_FALSY_VALUE_REJECTION';
          e.reason = err;
          err = e;
        }
        nextTick(done.bind(this), err);
      });
  };
}

function inherits(constructor, parent) {
  needFunction(constructor, 'ctor');
  needFunction(parent, 'superCtor');
  Object.defineProperty(constructor, 'super_', { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(constructor.prototype, parent.prototype);
}

const warned = Object.create(null);

function deprecate(f, message, code) {
  let done = false;
  function deprecated(...args) {
    if (!done) {
      done = true;
      if (code === undefined || !warned[code]) {
        if (code !== undefined) warned[code] = true;
        require('console').warn(`${code === undefined ? 'DeprecationWarning' : `[${code}] DeprecationWarning`}: ${message}`);
      }
    }
    if (new.target) return Reflect.construct(f, args, new.target);
    return Reflect.apply(f, this, args);
  }
  Object.setPrototypeOf(deprecated, f);
  if (f.prototype) deprecated.prototype = f.prototype;
  return deprecated;
}

function debuglog() {
  const f = () => {};
  f.enabled = false;
  return f;
}

const types = () => require('util_types');
const util = {
  inspect, format, formatWithOptions, promisify, callbackify, inherits, deprecate, debuglog, debug: debuglog,
  isDeepStrictEqual: (a, b) => require('equal').deepEqual(a, b, true),
  stripVTControlCharacters: (s) => `${s}`.replace(/[\u001b\u009b][[\]()#;?]*(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-ntqry=><~]/g, ''),
  toUSVString: (s) => `${s}`.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd'),
  aborted: (signal) => new Promise((resolve) => signal.aborted ? resolve() : signal.addEventListener('abort', resolve)),
  getSystemErrorName: (n) => `Unknown system error ${n}`,
  isArray: Array.isArray,
  isBoolean: (v) => typeof v === 'boolean', isNull: (v) => v === null, isNullOrUndefined: (v) => v === null || v === undefined,
  isNumber: (v) => typeof v === 'number', isString: (v) => typeof v === 'string', isSymbol: (v) => typeof v === 'symbol',
  isUndefined: (v) => v === undefined, isRegExp: (v) => types().isRegExp(v), isObject: (v) => v !== null && typeof v === 'object',
  isDate: (v) => types().isDate(v), isError: (v) => types().isNativeError(v) || v instanceof Error, isFunction: (v) => typeof v === 'function',
  isPrimitive: (v) => v === null || typeof v !== 'object' && typeof v !== 'function', isBuffer: (v) => require('buffer').Buffer.isBuffer(v),
  _extend: (target, source) => source !== null && typeof source === 'object' ? Object.assign(target, source) : target,
  log: (...args) => require('console').log(`${new Date().toString().slice(4, 24)} - ${format(...args)}`),
};
for (const name of ['TextEncoder', 'TextDecoder']) {
  Object.defineProperty(util, name, { get: () => require('encoding')[name], enumerable: true, configurable: true });
}
Object.defineProperty(util, 'types', { get: types, enumerable: true, configurable: true });
module.exports = util;
