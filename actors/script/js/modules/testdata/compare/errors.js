const util = require('util');
// Stacks differ from file to file, so they are cut.
const cut = (s) => s.split('\n').filter((l) => !/^\s+at |lines matching cause/.test(l)).join('\n');
const show = (v, o) => console.log(cut(util.inspect(v, o)));
class AppError extends Error {}
class Named extends Error { constructor(m) { super(m); this.name = 'Named'; } }
show(new Error('plain')); show(new TypeError('typed')); show(new Error('')); show(new AppError('sub')); show(new Named('n'));
show(Object.assign(new Error('with code'), { code: 'E_X', details: { a: 1 } })); show(new Error('outer', { cause: new Error('inner') })); show(new Error('c', { cause: 'text' }));
show({ error: new Error('in object') }); show([new Error('in list')]);
const bare = new Error('bare'); bare.stack = undefined; show(bare); const odd = new Error('odd'); odd.stack = 'not a stack'; show(odd);
const late = new Error('first'); late.message = 'second'; show(late); show(new AggregateError([new Error('a')], 'many'));
try { null.x } catch (e) { console.log(e instanceof TypeError, e.name); }
try { undefined_name } catch (e) { console.log(e instanceof ReferenceError, e.message); }
console.log(cut(util.format('%s', new Error('formatted')))); console.log(String(new RangeError('r')), `${new AppError('t')}`);
console.log(cut(util.format('failed:', new Error('second'))), util.types.isNativeError(new AppError('x')), Object.prototype.toString.call(new AppError('y')));
const e = {}; Error.captureStackTrace(e); console.log(typeof e.stack, /^Error/.test(String(e.stack)));
function Old(m) { Error.captureStackTrace(this, Old); this.message = m; } util.inherits(Old, Error); console.log(new Old('m') instanceof Error, new Old('m').message, typeof new Old('m').stack);
Old.prototype.name = 'Old'; show(new Old('old')); show([new Old('in list')]); show(Object.assign(new Old('coded'), { code: 7 }));
function Older(m) { this.message = m; this.stack = new Error(m).stack; } Older.prototype = Object.create(Error.prototype); Older.prototype.constructor = Older; show(new Older('older')); show(Object.create(Error.prototype));
function Oldest(m) { this.name = 'Oldest'; this.message = m; } Oldest.prototype = Object.create(Error.prototype, { constructor: { value: Oldest } }); show(new Oldest('oldest')); show({ e: new Oldest('in object') });
class GameOver extends RangeError {} show(new GameOver('score')); show(Object.assign(new GameOver('named'), { name: 'Over' })); show(new (class extends Error {})('no name')); show(Object.assign(Object.create(null), { message: 'm' }));
const none = new TypeError('none'); Object.setPrototypeOf(none, null); show(none); const tagged = new AppError('tagged'); tagged[Symbol.toStringTag] = 'Tag'; show(tagged); class MyError extends Error { get name() { return 'Mine'; } } show(new MyError('getter'));
for (const stack of ['odd stack', 'odd: stack', 'Odd thing: x\n    at y (z.js:1:2)', 'OddError', 'Odd', '', 'TypeError: t\n    at y (z.js:1:2)']) { const bare = new TypeError('bare'); Object.setPrototypeOf(bare, null); bare.stack = stack; show(bare); const own = new GameOver('own'); own.stack = stack; show(own); }
