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
