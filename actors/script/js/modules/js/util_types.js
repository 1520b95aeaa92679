const is = (kind) => (v) => binding.kind(v) === kind;

module.exports = {
  isMap: is('Map'), isSet: is('Set'), isWeakMap: (v) => v instanceof WeakMap, isWeakSet: (v) => v instanceof WeakSet, isDate: is('Date'), isRegExp: is('RegExp'),
  isPromise: is('Promise'), isNativeError: is('Error'), isTypedArray: is('TypedArray'), isArrayBuffer: is('ArrayBuffer'), isAnyArrayBuffer: is('ArrayBuffer'),
  isUint8Array: (v) => v instanceof Uint8Array, isProxy: (v) => binding.target(v) !== undefined,
};
