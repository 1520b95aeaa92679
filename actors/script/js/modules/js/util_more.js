// Functions of util that few scripts use.
const types = () => require('types');

module.exports = {
  isDeepStrictEqual: (a, b) => require('equal').deepEqual(a, b, true),
  stripVTControlCharacters: (s) => `${s}`.replace(/[\u001b\u009b][[\]()#;?]*(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-ntqry=><~]/g, ''),
  toUSVString: (s) => `${s}`.replace(/[\ud800-\udfff]/gu, '\ufffd'),
  aborted: (signal) => new Promise((resolve) => signal.aborted ? resolve() : signal.addEventListener('abort', resolve)),
  getSystemErrorName: (n) => `Unknown system error ${n}`,
  isArray: Array.isArray,
  isBoolean: (v) => typeof v === 'boolean', isNull: (v) => v === null, isNullOrUndefined: (v) => v === null || v === undefined,
  isNumber: (v) => typeof v === 'number', isString: (v) => typeof v === 'string', isSymbol: (v) => typeof v === 'symbol',
  isUndefined: (v) => v === undefined, isRegExp: (v) => types().isRegExp(v), isObject: (v) => v !== null && typeof v === 'object',
  isDate: (v) => types().isDate(v), isError: (v) => types().isNativeError(v) || v instanceof Error, isFunction: (v) => typeof v === 'function',
  isPrimitive: (v) => v === null || typeof v !== 'object' && typeof v !== 'function', isBuffer: (v) => require('buffer').Buffer.isBuffer(v),
  _extend: (target, source) => source !== null && typeof source === 'object' ? Object.assign(target, source) : target,
  log: (...args) => require('console').log(`${new Date().toString().slice(4, 24)} - ${require('format').format(...args)}`),
};
