const util = require('util');
const f = (...a) => console.log(util.format(...a));
class P { toString() { return 'P!'; } }
f('%s', 'a'); f('%s %s', 'a'); f('%s', 'a', 'b', { c: 1 }); f('%d|%i|%f', 42.5, 42.9, '3.25x'); f('%d %d %d', '1', 'x', {}); f('%i %f', 'abc', 'abc'); f('%j', { a: [1] }); f('%o', { a: 1 }); f('%O', { a: { b: { c: { d: {} } } } }); 
f('%c styled', 'css'); f('100%'); f('100%', 1); f('%%'); f('%% %s', 'x'); f('%x', 1); f('%s', null); f('%s', undefined); f('%s', -0); f('%s', Symbol('s')); f('%s', {}); f('%s', [1, [2, [3]]]); f('%s', new P()); f('%s', () => 1); f('%s', class Q {}); f('%s', { toString() { return 'own'; } }); f('%s', new Date(0)); f('%s', { a: { b: 1 } }); f('%s', Object.create(null));
f('%d', Symbol('x')); f('%d', -0); f('%f', 'x'); f('%j', undefined); f('%j', () => {}); const c = {}; c.c = c; f('%j', c); f(1, 2, '3'); f({ a: 1 }, 'x', [1]); f('a', 'b'); f(); f(''); f('', 'x'); f(undefined, null); f('%s%s', 1); f('%', 1); f('a%'); f('%s:%s:%s', 'a', 'b', 'c', 'd'); f(Symbol('a')); f('%O', 'str'); f('%o', 'str'); f('%o', 5); f('%o', function fn() {} === 1);
f('%s', true, false); f('%S', 1); f('%%%s%%', 'x'); f(-0); f([-0]); f('%s', [-0]); f(new P(), '%s', 1); f('%d%%', 50); f('%s', new Map([[1, 2]])); f('%s', new (class Foo { a = 1 })()); f('%s', new (class extends P {})());
console.log('%s is %d years', 'Bob', 42, { extra: true }); console.log(); console.log(''); console.log('multi\nline', 'x'); console.log([1, 2], 'a', null); console.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 }); console.info('info %j', [1]);
console.group('G'); console.log('inside\ntwo'); console.group(); console.log('deeper'); console.groupEnd(); console.groupEnd(); console.log('out'); console.count(); console.count(); console.count('x'); console.countReset(); console.count();

