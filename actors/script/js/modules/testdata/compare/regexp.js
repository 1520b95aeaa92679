// What RegExp makes of text, and what it has of the last match.
const show = (...all) => console.log(...all.map((v) => JSON.stringify(v)));
show('a=1\r\nb=2\r\n'.match(new RegExp('^\\w=.*$', 'gm')), 'a\rb'.replace(RegExp('$', 'gm'), ';'), new RegExp('^b', 'm').test('a\u2028b'));
const pair = '[\\ud800-\\udbff][\\udc00-\\udfff]';
show('a💩b'.replace(new RegExp(pair, 'g'), '_'), 'a💩b'.match(RegExp(pair + '|[^\\ud800-\\udfff]', 'g')), 'a💩b'.split(new RegExp(`(?:${pair})`)));
show('x'.match(new RegExp('^x$')).index, '💩'.match(new RegExp('^.$', 'u')).length, new RegExp('[\ud83d]').test('💩'), 'a\ud83d'.replace(new RegExp('[^\ud83d]$|^a'), ''));
show(/a/ instanceof RegExp, /a/.constructor === RegExp, RegExp(/a/g).flags, new RegExp(/a/g, 'i').flags, RegExp.name, RegExp.length, RegExp.prototype.constructor === RegExp, RegExp[Symbol.species] === RegExp);
const re = /a/;
show(RegExp(re) === re, new RegExp(re) === re, new RegExp().source, new RegExp(undefined).source, new RegExp(null).source, RegExp('', 'g').flags, new RegExp('a', undefined).flags);
class Own extends RegExp { exec(s) { const m = super.exec(s); if (m) m.own = true; return m; } }
show(new Own('^a$', 'm').exec('b\ra').own, new Own('a') instanceof Own, 'aa'.replace(new Own('a', 'g'), 'b'), new Own('x') instanceof RegExp);
for (const f of [() => new RegExp('('), () => RegExp('^$', 'q'), () => new RegExp('^', 5), () => new RegExp(Symbol('^'))]) {
  try { f(); } catch (e) { show(e.name); }
}
show(typeof RegExp, Object.prototype.toString.call(RegExp), 'a-b'.split(new RegExp('-')), structuredClone(new RegExp('a$', 'g')).flags);

Date.prototype.Format = function (format) {
  const parts = { 'M+': this.getUTCMonth() + 1, 'd+': this.getUTCDate(), 'h+': this.getUTCHours() };
  if (/(y+)/.test(format)) format = format.replace(RegExp.$1, (this.getUTCFullYear() + '').substr(4 - RegExp.$1.length));
  for (const k in parts) {
    if (new RegExp('(' + k + ')').test(format)) format = format.replace(RegExp.$1, RegExp.$1.length === 1 ? parts[k] : ('00' + parts[k]).substr(('' + parts[k]).length));
  }
  return format;
};
show(new Date(1714979289000).Format('yyyy-MM-dd h'));
const last = () => show(RegExp.$1, RegExp.$2, RegExp.$9, RegExp.lastMatch, RegExp['$&'], RegExp.lastParen, RegExp.leftContext, RegExp.rightContext, RegExp.input, RegExp['$`'], RegExp["$'"]);
/(b)(c)?/.exec('abd'); last();
/nothing/.test('abd'); last();
'xay'.replace(/(a)/, () => RegExp.$1 + '!'); last();
'1-2'.match(/(\d)/g); last();
'1,2'.search(/,/); last();
const m = /(q)/.exec('q'); m.shift(); last();
show([...'a1b2'.matchAll(/([a-z])(\d)/g)].map((x) => x[2]), 'a1'.split(/(\d)/), 'aXb'.replace(/x/i, '$&$&'), RegExp.prototype.exec.name, RegExp.prototype.exec.length, Object.keys(RegExp.prototype));
