const { inspect } = require('inspect');
const { deepEqual } = require('equal');

function coded(Class, code, message) {
  const e = new Class(message);
  e.code = code;
  return e;
}

class AssertionError extends Error {
  constructor({ message, operator, actual, expected }) {
    super(message === undefined || message === null ? `${inspect(actual)} ${operator} ${inspect(expected)}` : String(message));
    this.generatedMessage = message === undefined || message === null;
    this.code = 'ERR_ASSERTION';
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
    Object.defineProperty(this, 'name', { value: 'AssertionError', enumerable: false, writable: true, configurable: true });
    this.stack = this.stack.replace(/^Error/, 'AssertionError [ERR_ASSERTION]');
  }
}

function fail(actual, expected, message, operator) {
  if (message instanceof Error) throw message;
  throw new AssertionError({ actual, expected, message, operator });
}

function ok(value, message) {
  if (!value) fail(value, true, message === undefined ? 'The expression evaluated to a falsy value' : message, '==');
}

const loose = (a, b) => a == b || Number.isNaN(a) && Number.isNaN(b);

// matches reports whether an error is what was expected.
function matches(error, expected) {
  if (expected === undefined) return true;
  if (expected instanceof RegExp) return expected.test(String(error));
  if (typeof expected === 'function') {
    if (expected.prototype !== undefined && error instanceof expected) return true;
    if (expected === Error || Object.prototype.isPrototypeOf.call(Error, expected)) return false;
    return Reflect.apply(expected, {}, [error]) === true;
  }
  const keys = Object.keys(expected);
  if (expected instanceof Error) keys.push('name', 'message');
  return keys.every((key) => error !== null && typeof error === 'object' && key in error
    && (expected[key] instanceof RegExp && typeof error[key] === 'string' ? expected[key].test(error[key]) : deepEqual(error[key], expected[key], true)));
}

const none = Symbol('none');

function caught(f) {
  if (typeof f !== 'function') throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', `The "fn" argument must be of type function. Received ${inspect(f)}`);
  try {
    f();
  } catch (e) {
    return e;
  }
  return none;
}

async function rejected(f) {
  const p = typeof f === 'function' ? f() : f;
  if (p === null || p === undefined || typeof p.then !== 'function') throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', `The "promiseFn" argument must be a function that returns a promise, or one. Received ${inspect(f)}`);
  try {
    await p;
  } catch (e) {
    return e;
  }
  return none;
}

function expects(error, expected, message, operator) {
  if (typeof expected === 'string') [expected, message] = [undefined, expected];
  if (error === none) fail(undefined, expected, message === undefined ? 'Missing expected error' : message, operator);
  if (!matches(error, expected)) fail(error, expected, message, operator);
}

function unexpected(error, expected, message, operator) {
  if (error === none) return;
  if (typeof expected === 'string') [expected, message] = [undefined, expected];
  if (!matches(error, expected)) throw error;
  fail(error, expected, `Got unwanted error${message ? `: ${message}` : ''}\nActual message: "${error && error.message}"`, operator);
}

// compare makes a function that fails unless its arguments compare as it wants.
const compare = (operator, equal, wanted) => (a, b, message) => { if (equal(a, b) !== wanted) fail(a, b, message, operator); };
const strictly = (a, b) => deepEqual(a, b, true), loosely = (a, b) => deepEqual(a, b, false);
const match = (operator, wanted) => (s, re, message) => { if ((typeof s === 'string' && re.test(s)) !== wanted) fail(s, re, message, operator); };

const assert = Object.assign((value, message) => ok(value, message), {
  AssertionError, ok,
  fail(message = 'Failed') { fail(undefined, undefined, message, 'fail'); },
  equal: compare('==', loose, true), notEqual: compare('!=', loose, false),
  strictEqual: compare('strictEqual', Object.is, true), notStrictEqual: compare('notStrictEqual', Object.is, false),
  deepEqual: compare('deepEqual', loosely, true), notDeepEqual: compare('notDeepEqual', loosely, false),
  deepStrictEqual: compare('deepStrictEqual', strictly, true), notDeepStrictEqual: compare('notDeepStrictEqual', strictly, false),
  throws(f, expected, message) { expects(caught(f), expected, message, 'throws'); },
  async rejects(f, expected, message) { expects(await rejected(f), expected, message, 'rejects'); },
  doesNotThrow(f, expected, message) { unexpected(caught(f), expected, message, 'doesNotThrow'); },
  async doesNotReject(f, expected, message) { unexpected(await rejected(f), expected, message, 'doesNotReject'); },
  ifError(v) { if (v !== null && v !== undefined) fail(v, null, `ifError got unwanted exception: ${v instanceof Error ? v.message : inspect(v)}`, 'ifError'); },
  match: match('match', true), doesNotMatch: match('doesNotMatch', false),
});
assert.strict = Object.assign((value, message) => ok(value, message), assert, {
  equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual, notDeepEqual: assert.notDeepStrictEqual,
});
assert.strict.strict = assert.strict;
module.exports = assert;
