const { inspect } = require('inspect');
const { deepEqual } = require('equal');

const shown = (v) => inspect(v, { compact: false, customInspect: false, depth: 1000, maxArrayLength: Infinity, sorted: true, breakLength: Infinity, getters: true });
const titles = {
  deepStrictEqual: 'Expected values to be strictly deep-equal:', strictEqual: 'Expected values to be strictly equal:',
  deepEqual: 'Expected values to be loosely deep-equal:', notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
  notStrictEqual: 'Expected "actual" to be strictly unequal to:', notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
};

// difference shows two values, line by line where they differ.
function difference(operator, actual, expected, title = titles[operator]) {
  const a = shown(actual), b = shown(expected);
  const aLines = a.split('\n'), bLines = b.split('\n');
  if (aLines.length === 1 && bLines.length === 1 && a !== b) {
    const simple = (v) => v === null || typeof v !== 'object' && typeof v !== 'function';
    if ((simple(actual) || simple(expected)) && a.length + b.length <= 74 && (actual !== 0 || expected !== 0)) return `${title}\n\n${a} !== ${b}\n`;
  }
  if (a === b) return `${operator === 'strictEqual' ? 'Values have same structure but are not reference-equal' : titles[operator].slice(0, -1)}:\n\n${a}\n`;
  let start = 0, end = 0;
  while (start < aLines.length && start < bLines.length && aLines[start] === bLines[start]) start++;
  while (end < aLines.length - start && end < bLines.length - start && aLines[aLines.length - 1 - end] === bLines[bLines.length - 1 - end]) end++;
  const same = (l) => `  ${l}`;
  const lines = [
    ...aLines.slice(0, start).slice(-3).map(same),
    ...aLines.slice(start, aLines.length - end).slice(0, 50).map((l) => `+ ${l}`),
    ...bLines.slice(start, bLines.length - end).slice(0, 50).map((l) => `- ${l}`),
    ...aLines.slice(aLines.length - end).slice(0, 3).map(same),
  ];
  return `${title}\n+ actual - expected\n\n${lines.join('\n')}`;
}

class AssertionError extends Error {
  constructor(options) {
    if (options === null || typeof options !== 'object') {
      const e = new TypeError('The "options" argument must be of type object.');
      e.code = 'ERR_INVALID_ARG_TYPE';
      throw e;
    }
    const { message, operator, actual, expected } = options;
    let text = message;
    if (operator === 'deepStrictEqual' && text || operator === 'strictEqual' && text) text = difference(operator, actual, expected, String(text));
    else if (text === undefined || text === null) {
      if (operator === 'deepStrictEqual' || operator === 'strictEqual') text = difference(operator, actual, expected);
      else if (operator === 'notDeepStrictEqual' || operator === 'notStrictEqual') {
        const s = shown(actual);
        text = s.includes('\n') || s.length > 5 ? `${titles[operator]}\n\n${s}${s.includes('\n') ? '\n' : ''}` : `${titles[operator]} ${s}`;
      } else if (titles[operator]) text = `${titles[operator]}\n\n${shown(actual)}\n\nshould ${operator === 'notDeepEqual' ? 'not ' : ''}loosely deep-equal\n\n${shown(expected)}`;
      else text = `${shown(actual)} ${operator} ${shown(expected)}`;
    }
    super(String(text));
    this.generatedMessage = message === undefined || message === null;
    this.code = 'ERR_ASSERTION';
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
    Object.defineProperty(this, 'name', { value: 'AssertionError', enumerable: false, writable: true, configurable: true });
    this.stack = this.stack.replace(/^Error/, 'AssertionError [ERR_ASSERTION]');
  }
  toString() { return `${this.name} [${this.code}]: ${this.message}`; }
}

function fail(actual, expected, message, operator) {
  if (message instanceof Error) throw message;
  throw new AssertionError({ actual, expected, message, operator });
}

function ok(args) {
  if (args[0]) return;
  if (args.length === 0) return fail(undefined, true, 'No value argument passed to `assert.ok()`', '==');
  if (args[1] instanceof Error) throw args[1];
  const e = new AssertionError({ actual: args[0], expected: true, message: args[1] === undefined ? 'The expression evaluated to a falsy value' : args[1], operator: '==' });
  e.generatedMessage = args[1] === undefined;
  throw e;
}

function assert(...args) { ok(args); }

const loose = (a, b) => a == b || Number.isNaN(a) && Number.isNaN(b);

function code(Class, c, message) {
  const e = new Class(message);
  e.code = c;
  return e;
}

const needFunction = (f, name) => {
  if (typeof f !== 'function') throw code(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${name}" argument must be of type function. Received ${f === null || f === undefined ? f : typeof f === 'object' ? `an instance of ${f.constructor ? f.constructor.name : 'Object'}` : `type ${typeof f} (${inspect(f)})`}`);
};

// matches fails if an error is not what was expected.
function matches(error, expected, message, operator) {
  if (expected === undefined) return;
  if (expected instanceof RegExp) {
    if (expected.test(String(error))) return;
    fail(error, expected, message === undefined ? `The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(String(error))}\n` : message, operator);
  }
  if (typeof expected === 'object') {
    const keys = Object.keys(expected);
    if (expected instanceof Error) keys.push('name', 'message');
    else if (keys.length === 0) throw code(TypeError, 'ERR_INVALID_ARG_VALUE', "The argument 'error' may not be an empty object. Received {}");
    for (const key of keys) {
      const want = expected[key];
      if (typeof error === 'object' && error !== null && key in error) {
        if (want instanceof RegExp && typeof error[key] === 'string' ? want.test(error[key]) : deepEqual(error[key], want, true)) continue;
      }
      const a = {}, b = {};
      for (const k of keys) {
        if (typeof error === 'object' && error !== null && k in error) a[k] = error[k];
        b[k] = expected[k];
      }
      const e = new AssertionError({ actual: a, expected: b, operator: 'deepStrictEqual', message: message instanceof Error ? undefined : message });
      if (message instanceof Error) throw message;
      e.actual = error;
      e.expected = expected;
      e.operator = operator;
      throw e;
    }
    return;
  }
  if (expected.prototype !== undefined && error instanceof expected) return;
  if (Object.prototype.isPrototypeOf.call(Error, expected) || expected === Error) {
    fail(error, expected, message === undefined ? `The error is expected to be an instance of "${expected.name}". Received ${error instanceof Error ? `"${error.name}"\n\nError message:\n\n${error.message}` : inspect(error)}` : message, operator);
  }
  const got = Reflect.apply(expected, {}, [error]);
  if (got !== true) fail(error, expected, message === undefined ? `The ${expected.name ? `"${expected.name}" ` : ''}validation function is expected to return "true". Received ${inspect(got)}\n\nCaught error:\n\n${inspect(error)}` : message, operator);
}

const none = Symbol('none');

function caught(f) {
  needFunction(f, 'fn');
  try {
    f();
  } catch (e) {
    return e;
  }
  return none;
}

async function rejected(f) {
  let p = f;
  if (typeof f === 'function') {
    p = f();
    if (p === null || p === undefined || typeof p.then !== 'function') throw code(TypeError, 'ERR_INVALID_RETURN_VALUE', `Expected instance of Promise to be returned from the "promiseFn" function but got ${p === undefined ? 'undefined' : `type ${typeof p}`}.`);
  } else if (p === null || p === undefined || typeof p.then !== 'function') throw code(TypeError, 'ERR_INVALID_ARG_TYPE', `The "promiseFn" argument must be of type function or an instance of Promise. Received ${inspect(p)}`);
  try {
    await p;
  } catch (e) {
    return e;
  }
  return none;
}

function expects(error, expected, message, operator) {
  if (typeof expected === 'string') {
    if (message !== undefined) throw code(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "error" argument must be of type function or an instance of Error, RegExp, or Object.');
    [expected, message] = [undefined, expected];
  }
  if (error === none) {
    const what = operator === 'rejects' ? 'rejection' : 'exception';
    fail(undefined, expected, message instanceof Error ? message : `Missing expected ${what}${expected && expected.name ? ` (${expected.name})` : ''}${message ? `: ${message}` : '.'}`, operator);
  }
  matches(error, expected, message, operator);
}

function unexpected(error, expected, message, operator) {
  if (error === none) return;
  if (typeof expected === 'string') [expected, message] = [undefined, expected];
  if (expected === undefined || typeof expected === 'function' && error instanceof expected || expected instanceof RegExp && expected.test(String(error))) {
    fail(error, expected, `Got unwanted ${operator === 'doesNotReject' ? 'rejection' : 'exception'}${message ? `: ${message}` : '.'}\nActual message: "${error && error.message}"`, operator);
  }
  throw error;
}

Object.assign(assert, {
  AssertionError,
  ok: (...args) => ok(args),
  fail(message = 'Failed') {
    if (message instanceof Error) throw message;
    const e = new AssertionError({ message, operator: 'fail' });
    e.generatedMessage = arguments.length === 0;
    throw e;
  },
  equal(a, b, message) { if (!loose(a, b)) fail(a, b, message, '=='); },
  notEqual(a, b, message) { if (loose(a, b)) fail(a, b, message, '!='); },
  strictEqual(a, b, message) { if (!Object.is(a, b)) fail(a, b, message, 'strictEqual'); },
  notStrictEqual(a, b, message) { if (Object.is(a, b)) fail(a, b, message, 'notStrictEqual'); },
  deepEqual(a, b, message) { if (!deepEqual(a, b, false)) fail(a, b, message, 'deepEqual'); },
  notDeepEqual(a, b, message) { if (deepEqual(a, b, false)) fail(a, b, message, 'notDeepEqual'); },
  deepStrictEqual(a, b, message) { if (!deepEqual(a, b, true)) fail(a, b, message, 'deepStrictEqual'); },
  notDeepStrictEqual(a, b, message) { if (deepEqual(a, b, true)) fail(a, b, message, 'notDeepStrictEqual'); },
  throws(f, expected, message) { expects(caught(f), expected, message, 'throws'); },
  async rejects(f, expected, message) { expects(await rejected(f), expected, message, 'rejects'); },
  doesNotThrow(f, expected, message) { unexpected(caught(f), expected, message, 'doesNotThrow'); },
  async doesNotReject(f, expected, message) { unexpected(await rejected(f), expected, message, 'doesNotReject'); },
  ifError(v) {
    if (v === null || v === undefined) return;
    const text = typeof v === 'object' && typeof v.message === 'string' ? v.message || v.constructor.name : inspect(v);
    fail(v, null, `ifError got unwanted exception: ${text}`, 'ifError');
  },
  match(s, re, message) {
    if (typeof s !== 'string' || !re.test(s)) fail(s, re, message === undefined ? typeof s !== 'string' ? `The "string" argument must be of type string. Received type ${typeof s} (${inspect(s)})` : `The input did not match the regular expression ${inspect(re)}. Input:\n\n${inspect(s)}\n` : message, 'match');
  },
  doesNotMatch(s, re, message) {
    if (typeof s === 'string' && re.test(s)) fail(s, re, message === undefined ? `The input was expected to not match the regular expression ${inspect(re)}. Input:\n\n${inspect(s)}\n` : message, 'doesNotMatch');
  },
});
const strict = Object.assign((...args) => ok(args), assert, {
  equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual, notDeepEqual: assert.notDeepStrictEqual,
});
strict.strict = assert.strict = strict;
module.exports = assert;
