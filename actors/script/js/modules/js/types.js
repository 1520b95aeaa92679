const { kind, isProxy } = require('inspect');

const isObject = (v) => v !== null && (typeof v === 'object' || typeof v === 'function');
const is = (name) => (v) => isObject(v) && kind(v) === name;
const source = (f) => Function.prototype.toString.call(f);
const typed = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array).prototype, Symbol.toStringTag).get;
const array = (name) => (v) => isObject(v) && typed.call(v) === name;
const AsyncFunction = (async () => {}).constructor, GeneratorFunction = (function* () {}).constructor;

const types = {
  isMap: is('Map'), isSet: is('Set'), isWeakMap: is('WeakMap'), isWeakSet: is('WeakSet'), isDate: is('Date'), isRegExp: is('RegExp'),
  isPromise: is('Promise'), isNativeError: is('Error'), isArgumentsObject: is('Arguments'), isDataView: is('DataView'),
  isMapIterator: is('Map Iterator'), isSetIterator: is('Set Iterator'), isTypedArray: is('TypedArray'),
  isArrayBuffer: is('ArrayBuffer'), isAnyArrayBuffer: is('ArrayBuffer'), isSharedArrayBuffer: () => false,
  isArrayBufferView: ArrayBuffer.isView,
  isNumberObject: is('Number'), isStringObject: is('String'), isBooleanObject: is('Boolean'), isSymbolObject: is('Symbol'), isBigIntObject: is('BigInt'),
  isBoxedPrimitive: (v) => isObject(v) && ['Number', 'String', 'Boolean', 'Symbol', 'BigInt'].includes(kind(v)),
  isAsyncFunction: (v) => typeof v === 'function' && (v instanceof AsyncFunction || source(v).startsWith('async')),
  isGeneratorFunction: (v) => typeof v === 'function' && v instanceof GeneratorFunction,
  isGeneratorObject: (v) => isObject(v) && v[Symbol.toStringTag] === 'Generator' && typeof v.next === 'function',
  isProxy,
  isExternal: () => false, isModuleNamespaceObject: () => false, isKeyObject: () => false, isCryptoKey: () => false,
};
for (const name of ['Uint8Array', 'Uint8ClampedArray', 'Uint16Array', 'Uint32Array', 'Int8Array', 'Int16Array', 'Int32Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array']) {
  types[`is${name}`] = array(name);
}
module.exports = types;
