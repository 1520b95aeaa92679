// Other modules are loaded when a script uses their exports.
const util = {
  promisify(original) {
    require('errors').needFunction(original, 'original');
    for (const name of ['setTimeout', 'setImmediate']) if (original === globalThis[name]) return require('timers_promises')[name];
    return function (...args) {
      return new Promise((resolve, reject) => {
        Reflect.apply(original, this, [...args, (err, value) => err ? reject(err) : resolve(value)]);
      });
    };
  },
  inherits(constructor, parent) {
    require('errors').needFunction(constructor, 'ctor');
    require('errors').needFunction(parent, 'superCtor');
    Object.defineProperty(constructor, 'super_', { value: parent, writable: true, configurable: true });
    Object.setPrototypeOf(constructor.prototype, parent.prototype);
  },
  deprecate: (f) => f,
  debuglog: () => Object.assign(() => {}, { enabled: false }),
  isDeepStrictEqual: (a, b) => require('equal').deepEqual(a, b, true),
  isArray: Array.isArray,
};

function lazy(name, source) {
  Object.defineProperty(util, name, { get: () => name === 'types' ? require(source) : require(source)[name], enumerable: true, configurable: true });
}
lazy('inspect', 'inspect');
lazy('format', 'format');
lazy('TextEncoder', 'encoding');
lazy('TextDecoder', 'encoding');
lazy('types', 'util_types');
module.exports = util;
