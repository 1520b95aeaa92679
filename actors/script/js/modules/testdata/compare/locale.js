const show = (what, f) => { let s; try { s = f(); } catch (e) { s = `${e.name}: ${e.message}`; } console.log(what, JSON.stringify(s)); };

for (const x of [0, -0, 1, 12, 123, 1234, 1234.5678, -1234567.891, 1e21, 1e100, 1e-7, NaN, Infinity, -Infinity, 0.0005, 0.00049, 1.005, 2.5, -0.4, 1.0005, 1.0015, 0.1 + 0.2, 999999.9999, 5e-324, 123456789n, -1234n, 0n, new Number(1234.5), Object(5000n)]) {
  for (const o of [undefined, {}, { maximumFractionDigits: 0 }, { minimumFractionDigits: 2 }, { style: 'percent' }, { style: 'currency', currency: 'USD' }, { style: 'currency', currency: 'jpy' }, { useGrouping: false }, { maximumSignificantDigits: 3 }, { minimumSignificantDigits: 6 }, { notation: 'compact' }, { signDisplay: 'always' }, { signDisplay: 'exceptZero' }]) {
    show(`${String(x)} ${JSON.stringify(o)}`, () => x.toLocaleString('en-US', o));
  }
}
for (const [x, ...rest] of [
  [1234.5], [1234567, undefined], [1234567, []], [1234567, ['en-GB', 'en']], [1234.5, 'en-US', { style: 'currency', currency: 'EUR' }], [-1234.5, 'en-US', { style: 'currency', currency: 'GBP' }],
  [1234.5, 'en-US', { style: 'currency', currency: 'CHF' }], [5, 'en', { style: 'currency', currency: 'CAD', currencyDisplay: 'narrowSymbol' }], [5, 'en', { style: 'currency', currency: 'USD', currencyDisplay: 'code' }], [1234.5, 'en-US', { style: 'currency' }],
  [1, 'en', { style: 'currency', currency: 'US' }], [1, 'en-US', { minimumFractionDigits: 5 }], [1.23456789, 'en-US', { minimumFractionDigits: 5 }], [1.5, 'en-US', { maximumFractionDigits: 101 }], [1, 'en-US', { minimumFractionDigits: 3, maximumFractionDigits: 1 }],
  [1, 'en', { minimumFractionDigits: -1 }], [1, 'en', { maximumFractionDigits: 'x' }], [1, 'en', { maximumFractionDigits: '1' }], [5, 'en-US', { minimumIntegerDigits: 3 }], [12345, 'en', { minimumIntegerDigits: 7 }], [0.5, 'en', { minimumIntegerDigits: 2, minimumFractionDigits: 3 }],
  [999, 'en', { notation: 'compact' }], [1500, 'en', { notation: 'compact' }], [15000, 'en', { notation: 'compact' }], [999999, 'en', { notation: 'compact' }], [1234567, 'en', { notation: 'compact' }], [1234567, 'en', { notation: 'compact', maximumFractionDigits: 2 }], [1.55, 'en', { notation: 'compact' }],
  [12.55, 'en', { notation: 'compact' }], [1e10, 'en', { notation: 'compact', compactDisplay: 'long' }], [1500, 'en', { notation: 'compact', compactDisplay: 'long' }], [1e16, 'en', { notation: 'compact' }], [1e18, 'en', { notation: 'compact' }], [0.05, 'en', { notation: 'compact' }], [1500, 'en', { notation: 'compact', style: 'currency', currency: 'USD' }],
  [-5, 'en', { signDisplay: 'never' }], [-0, 'en', { signDisplay: 'negative' }], [5, 'en', { style: 'bad' }], [5, 'a'], [5, ''], [5, null], [5, 'en', null], [1234, undefined, { style: 'percent', minimumFractionDigits: 1 }], [0.256, undefined, { style: 'percent', minimumFractionDigits: 1 }],
  [5, 'en', { style: 'currency', currency: 'USD', minimumFractionDigits: 0 }], [5.678, 'en', { style: 'currency', currency: 'USD', maximumFractionDigits: 0 }], [5.678, 'en', { style: 'currency', currency: 'USD', maximumFractionDigits: 1 }], [1234, 'en', { useGrouping: 'min2' }], [12345, 'en', { useGrouping: 'min2' }], [1234, 'en', { useGrouping: 'always' }],
  [123456, 'en', { maximumSignificantDigits: 2 }], [0.00123456, 'en', { maximumSignificantDigits: 2 }], [0, 'en', { minimumSignificantDigits: 3 }], [1.2, 'en', { minimumSignificantDigits: 3 }], [1, 'en', { minimumSignificantDigits: 3, maximumSignificantDigits: 2 }], [0.005, 'en', { style: 'percent', maximumFractionDigits: 1 }], [99.95, 'en', { maximumFractionDigits: 1 }],
]) show(`${x} ${JSON.stringify(rest)}`, () => x.toLocaleString(...rest));
console.log([1234.5, 'a', null, new Date(0)].toLocaleString(), new Float32Array([1234.5]).toLocaleString(), ({}).toLocaleString(), 'x'.toLocaleString(), true.toLocaleString());
console.log(Number.prototype.toLocaleString.name, Number.prototype.toLocaleString.length, Object.keys(Number.prototype), ''.localeCompare.length);
show('this', () => Number.prototype.toLocaleString.call('x'));
show('this', () => BigInt.prototype.toLocaleString.call(5));
show('this', () => Date.prototype.toLocaleString.call('x'));

const dates = [Date.UTC(2026, 10, 2, 9, 5, 9, 45), Date.UTC(2026, 11, 31, 0, 0, 0), Date.UTC(2001, 1, 3, 12, 30, 59, 999), Date.UTC(1999, 6, 4, 23, 1, 1), Date.UTC(-5, 1, 1), Date.UTC(12345, 1, 1), NaN].map((t) => new Date(t));
const methods = ['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString'];
for (const d of dates) for (const m of methods) show(`${+d} ${m}`, () => [d[m](), d[m]('en-US', { timeZone: 'UTC' })]);
const n = 'numeric', p = '2-digit';
for (const o of [{ hour: n, hourCycle: 'h23' }, { hour: n, minute: p }, { hour: p, minute: p }, { minute: n }, { second: n }, { minute: n, second: n }, { hour: p }, { timeZoneName: 'short' }, { timeStyle: 'short' }, { timeStyle: 'medium' }, { timeStyle: 'long' }, { timeStyle: 'full' },
  { timeStyle: 'short', hour12: false }, { hour12: false }, { hour: p, minute: p, second: p, hour12: false }, { hour12: true }, { timeZone: 'America/New_York' }, { timeZone: 'Europe/Berlin', timeZoneName: 'short' }, { timeZone: 'America/New_York', timeZoneName: 'short' }, { timeZone: 'Nope' }, { timeZone: '' }, { timeZone: 'Local' },
  { timeZone: 'Asia/Kolkata', timeStyle: 'long' }, { weekday: 'long', month: 'long' }, { weekday: 'long', year: n }, { weekday: 'long', day: n }, { month: 'narrow' }, { weekday: 'narrow' }, { weekday: 'short' }, { year: n, day: n }, { year: n, month: 'short' }, { year: n, month: n }, { year: n, month: p }, { year: n, month: 'short', day: n },
  { year: n, month: 'long', day: n }, { weekday: 'long', year: n, month: 'long', day: n }, { weekday: 'short', month: 'short', day: n }, { weekday: 'short', year: n, month: 'short', day: n, hour: n }, { weekday: 'short', year: n, month: n, day: n }, { year: p, month: 'short', day: p }, { month: 'long', day: n, hour: n },
  { year: n, month: 'long', day: n, hour: n, minute: p }, { day: n, hour: n }, { day: p }, { month: p }, { month: n, hour: n }, { year: n, hour: n }, { year: n }, { day: n }, { fractionalSecondDigits: 3 }, { hour: n, minute: n, second: n, fractionalSecondDigits: 2 }, { month: 'bad' }, { dateStyle: 'short', month: 'short' }, { dateStyle: 'bad' },
  { hourCycle: 'h23' }, { month: p, day: p }, { year: n, month: p, day: p }, { year: n, month: n, day: p }, { dateStyle: 'full' }, { dateStyle: 'long' }, { dateStyle: 'medium' }, { dateStyle: 'short' }, { dateStyle: 'full', timeStyle: 'full' }, { dateStyle: 'long', timeStyle: 'short' }, { dateStyle: 'medium', timeStyle: 'short' }, { dateStyle: 'short', timeStyle: 'medium' },
  { month: 'long', hour: n }, { weekday: 'long', hour: n, minute: p }, { year: p, month: n, day: n }]) {
  for (const d of dates.slice(0, 3)) show(`${+d} ${JSON.stringify(o)}`, () => methods.map((m) => { try { return d[m]('en-US', o); } catch (e) { return `${e.name}: ${e.message}`; } }));
}

show('null', () => new Date(0).toLocaleString('en', null));
show('null', () => 5n.toLocaleString('en', null));
const words = ['', ' ', '_', '-', 'a', 'A', 'á', 'Á', 'b', 'B', 'Z', 'z', 'ab', 'a b', 'a-b', 'a_b', '1', '2', '10', '02', 'a1', 'a2', 'a10', 'a02', 'A10', 'résumé', 'resume', 'ß', 'ss', 'ø', 'o', 'Ωmega', 'я', '日本', '😀', 'a\u0301'];
for (const o of [undefined, {}, { numeric: true }, { sensitivity: 'base' }, { sensitivity: 'accent' }, { sensitivity: 'variant' }, { numeric: true, sensitivity: 'base' }]) {
  for (const a of words) console.log(JSON.stringify(o), a, words.map((b) => a.localeCompare(b, 'en', o)).join(' '));
}
console.log([...words].sort((a, b) => a.localeCompare(b)).join('|'), ['x10', 'x9', 'X1'].sort((a, b) => a.localeCompare(b, undefined, { numeric: true, sensitivity: 'base' })));
show('this', () => String.prototype.localeCompare.call(null, 'a'));
show('bad', () => 'a'.localeCompare('b', 'en', { sensitivity: 'no' }));
console.log('a'.localeCompare(), 'undefined'.localeCompare(), 'a'.localeCompare(null));
