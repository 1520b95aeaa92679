const { inspect } = require('inspect');
const { deepEqual } = require('equal');
const { needFunction } = require('errors');

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

// matches reports whether an error is as expected.
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

function throws(f, expected, message) {
  needFunction(f, 'fn');
  if (typeof expected === 'string') [expected, message] = [undefined, expected];
  try {
    f();
  } catch (e) {
    if (!matches(e, expected)) fail(e, expected, message, 'throws');
    return;
  }
  fail(undefined, expected, message === undefined ? 'Missing expected exception' : message, 'throws');
}

const compare = (operator, equal, wanted) => (a, b, message) => { if (equal(a, b) !== wanted) fail(a, b, message, operator); };
const strictly = (a, b) => deepEqual(a, b, true), loosely = (a, b) => deepEqual(a, b, false);

const assert = Object.assign((value, message) => ok(value, message), {
  AssertionError, ok,
  fail(message = 'Failed') { fail(undefined, undefined, message, 'fail'); },
  equal: compare('==', loose, true), notEqual: compare('!=', loose, false),
  strictEqual: compare('strictEqual', Object.is, true), notStrictEqual: compare('notStrictEqual', Object.is, false),
  deepEqual: compare('deepEqual', loosely, true), notDeepEqual: compare('notDeepEqual', loosely, false),
  deepStrictEqual: compare('deepStrictEqual', strictly, true), notDeepStrictEqual: compare('notDeepStrictEqual', strictly, false),
  throws,
});
assert.strict = Object.assign((value, message) => ok(value, message), assert, {
  equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual, notDeepEqual: assert.notDeepStrictEqual,
});
assert.strict.strict = assert.strict;
module.exports = assert;
