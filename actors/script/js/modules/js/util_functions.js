// Functions of util that make functions and classes.
const custom = Symbol.for('nodejs.util.promisify.custom');

function needFunction(f, name) {
  if (typeof f !== 'function') {
    const e = new TypeError(`The "${name}" argument must be of type function. Received ${f === null || f === undefined ? f : `type ${typeof f} (${require('inspect').inspect(f)})`}`);
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

module.exports = { promisify, callbackify, inherits, deprecate, debuglog };
