const util = require('util');
const show = (v, o) => console.log(util.inspect(v, o));
class Foo { constructor() { this.a = 1; } get x() { return 1; } }
class Bar extends Foo {}
class Quiet { [util.inspect.custom](depth, options) { return `Quiet<${depth}, ${options.depth}, ${typeof options.stylize}>`; } }
class Nested { [util.inspect.custom]() { return { a: { b: { c: { d: {} } } } }; } }
show({ a: 1, b: 'x', c: [1, 2, 3], d: { e: { f: { g: 1 } } } });
show([]); show({}); show([[]]); show([{}]); show([[[[[]]]]]);
show(Array.from({ length: 10 }, (_, i) => ({ id: i, name: 'n' + i })));
show(Object.assign([1, 2], { x: 1, '-1': 2 })); show([undefined, null, NaN, -0, 0]);
show(new Map()); show(new Map([[1, 2], ['a', { b: 1 }]])); show(new Map([[{ a: 1 }, new Map([[1, new Set([1])]])]]));
show(new Set()); show(new Set([1, 'a', [1]])); show(Object.assign(new Map([[1, 2]]), { extra: true }));
show(new Date(0)); show(new Date(NaN)); show(/a+b/gi); show(Object.assign(/x/, { a: 1 })); show(Object.assign(new Date(1e12), { a: 1 }));
show('say "hi"'); show('new\nline\ttab\\back'); show('😀é');
show(1); show(-0); show(1e21); show(1.5e-7); show(true); show(null); show(undefined); show(Symbol('s')); show(Symbol()); show(Symbol.iterator);
show([-0, 'a', Symbol('x'), null, undefined, true]);
show(function f() {}); show(() => {}); show(Object.assign(function p() {}, { a: 1 }));
show(new Foo()); show(new Bar()); show(new (class {})()); show(Object.create(null)); show(Object.assign(Object.create(null), { a: 1 })); show(Object.create({})); show(Object.create(Foo.prototype));
show({ get a() { return 1; }, set b(v) {}, get c() { return 1; }, set c(v) {} });
show({ [Symbol('k')]: 1, [Symbol('with space')]: { a: 1 }, 'not-id': 1, 2: 'two', '': 0, ünï: 1, $a: 1, _b: 2 });
show({ 'a"b': 2, 'a\nb': 4 });
show(new Uint8Array([1, 2, 3])); show(new Uint8Array(0)); show(new Float64Array([1.5, -0]));
show(Buffer.from('hello')); show(Buffer.alloc(60)); show(Buffer.alloc(0)); show({ b: Buffer.from([1]) }); show([Buffer.from('a'), Buffer.from('b')]);
show(new Nested()); show({ n: new Nested() });
show(globalThis === global);
show({ a: { b: { c: { d: 1 } } } }, { depth: 0 }); show({ a: { b: { c: { d: 1 } } } }, { depth: null }); show({ a: { b: { c: { d: 1 } } } }, { depth: Infinity }); show([[[[1]]]], { depth: 1 }); show(new Foo(), { depth: -1 }); show([1], { depth: -1 }); show(new Map([[1, { a: {} }]]), { depth: 0 });
show({ a: 1, b: 2 }, { compact: false }); show({ a: [1, { b: 2 }], c: new Map([[1, 2]]) }, { compact: false }); 
show({ a: 1, b: 2, c: 3 }, { breakLength: 10 }); show({ a: { b: 'x'.repeat(70) } }, { breakLength: 80 }); show({ long: 'word '.repeat(30) });
show([1, 2, 3, 4], { maxArrayLength: 2 }); show(new Set([1, 2, 3]), { maxArrayLength: 1 }); show(new Map([[1, 2], [3, 4]]), { maxArrayLength: 1 }); show('abcdef', { maxStringLength: 3 }); show([1, 2], { maxArrayLength: 0 }); show(new Uint8Array(5), { maxArrayLength: 2 });
show(new Proxy({ a: 1 }, {})); show(new Proxy([1, 2], {})); show(new Proxy(function f() {}, {}));
show({ u: undefined, n: null, f() {}, g: () => {}, h: function () {} });
show({ players: new Map([[1, { peerId: 1, playerSessionId: 'psess-1' }], [2, { peerId: 2, playerSessionId: 'psess-2' }]]), started: true, tick: 12, names: ['a', 'b'] });
show({ a: 'a'.repeat(20), b: 'b'.repeat(20), c: 'c'.repeat(20), d: 'd'.repeat(20), e: 1 }); show([['a', 'b'], ['c', 'd'], [{ x: 1, y: [1, 2, { z: 1 }] }]]);
show({ a: [{ b: 1, c: [{ d: [1] }] }] }); show([['aaaa'.repeat(10), 'bbbb'.repeat(10)], ['cccc'.repeat(10), 'dddd'.repeat(10)]]);

show({ [Symbol.toStringTag]: 'Tagged', a: 1 }); show([new Foo(), new Bar()]); show({ date: new Date(86400000), re: /x/ });
show(Object.assign(Object.create({ inherited: 1 }), { own: 1 })); show({ constructor: 'x' }); show({ constructor: { name: 'Fake' } }); show({ toString() { return 'no'; } });

show(new (class extends Map { })([[1, 2]])); show(Object.setPrototypeOf([1], null));
show(process.stdout === undefined); show([Infinity, -Infinity, NaN]); show({ a: [[], {}], b: [[1], { c: {} }] }); show(new Array(3).fill({ x: 0, y: 0 })); show('a'.repeat(200)); show(['a'.repeat(100), 'b'.repeat(100)]);
show(new Error('no stack') instanceof Error);

