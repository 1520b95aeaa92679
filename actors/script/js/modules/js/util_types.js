const { kind, isProxy } = require('inspect');

const isObject = (v) => v !== null && (typeof v === 'object' || typeof v === 'function');
const is = (name) => (v) => isObject(v) && kind(v) === name;

module.exports = {
  isMap: is('Map'), isSet: is('Set'), isWeakMap: is('WeakMap'), isWeakSet: is('WeakSet'), isDate: is('Date'), isRegExp: is('RegExp'),
  isPromise: is('Promise'), isNativeError: is('Error'), isTypedArray: is('TypedArray'), isArrayBuffer: is('ArrayBuffer'), isAnyArrayBuffer: is('ArrayBuffer'),
  isUint8Array: (v) => v instanceof Uint8Array, isProxy,
};
