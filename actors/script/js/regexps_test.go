package js

import (
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"
)

// The guarded methods of regular expressions return the same as those of the engine.
func TestRegularExpressionsWithALimitMatchAsTheEngineDoes(t *testing.T) {
	const source = `
	const out = [], texts = ['', 'a', 'ab1c22d', 'a,b,,c', ',a,', 'xaxbx', 'é1ü22💩3', '💩💩', 'aaa\nbbb'];
	const made = [/(?=\d)\d/g, /(?=\d)\d/, /,(?!,)/, /,(?!,)/g, /(?:)(?=.)/g, /(?:)(?=.)/gu, /(?=x)x|(\d)/g, /(.)(?=\d)\1?/, /(?<n>\d)(?=.|$)/g, /(?<n>\d)(?=.|$)/y, /\d/g, /(?:)/g, /(?:)/gu, /\d/gy, /x/, /$/gm, /(?<=a)b|,/gi];
	for (const text of texts) for (const one of made) {
		const show = (f) => { let v; one.lastIndex = 0; try { v = f(); } catch (e) { v = String(e); } out.push(JSON.stringify([text, made.indexOf(one), v, one.lastIndex])); };
		show(() => text.match(one));
		show(() => text.replace(one, '[$&|$1|$<n>|$` + "`" + `]'));
		show(() => text.replace(one, (...all) => JSON.stringify(all)));
		show(() => text.split(one));
		show(() => text.split(one, 2));
		show(() => text.search(one));
		show(() => [...text.matchAll(one)]);
		show(() => text.replaceAll(one, '-'));
		show(() => [one.test(text), one.test(text), one.exec(text), one.exec(text)]);
	}
	const own = { exec: (...all) => all.length }, none = null;
	out.push(own.exec(1, 2), own?.exec(1), none?.exec(1), own.exec(...[1, 2, 3]));
	const proxied = { exec: new Proxy((x) => { if (x === 2) throw new Error('mine'); return x + 1; }, {}) };
	out.push(proxied.exec(1));
	try { proxied.exec(2); } catch (e) { out.push(e.message); }
	for (const f of [() => none.exec(1), () => ({}).exec(1), () => (void 0).exec()]) try { f(); } catch (e) { out.push(e.name, e.message); }
	class Own extends RegExp { exec(s) { const m = super.exec(s); return m && Object.assign(m, { own: 1 }); } }
	out.push('a1b2'.replace(new Own('(?=\\d).', 'g'), '#'), new Own('b').exec('ab').own, 'a1b2'.split(new Own('\\d')).join());
	const frozen = Object.freeze(/(?=a)a/g);
	try { 'a'.replace(frozen, 'b'); } catch (e) { out.push(e.name); }
	out.push(RegExp.prototype[Symbol.split].name, RegExp.prototype.test.length, RegExp.prototype[Symbol.replace].length);
	`
	// Without a time limit, the test also passes on a busy machine.
	defer func(d time.Duration) { regexp2.DefaultMatchTimeout = d }(regexp2.DefaultMatchTimeout)
	regexp2.DefaultMatchTimeout = time.Hour
	vm := goja.New()
	want, err := vm.RunString("(function () {" + source + "return out.join('\\n'); })()")
	if err != nil {
		t.Fatal(err)
	}
	g := start(t, calm(), body(`onMessage() {`+source+` globalThis.result = out.join('\n'); }`))
	g.handler.(*Handler).regexps.max = time.Hour
	g.handler.OnMessage(message(1, ""))
	result := g.handler.(*Handler).vm.Get("result")
	if result == nil {
		t.Fatal(g.lines.String())
	}
	got, wanted := strings.Split(result.String(), "\n"), strings.Split(want.String(), "\n")
	if len(got) != len(wanted) || len(got) < 1000 {
		t.Fatalf("%d lines, want %d", len(got), len(wanted))
	}
	for i, line := range got {
		if line != wanted[i] {
			t.Errorf("got  %s\nwant %s", line, wanted[i])
		}
	}
}
