package compile

import "testing"

// What Node.js says of the same regular expressions.
func TestRegexpsThatTheEngineGetsWrong(t *testing.T) {
	for source, want := range map[string]string{
		`[...'a=1\r\nb=2\r\n'.matchAll(/^(\w)=(.*)$/gm)].map((m) => m[1] + m[2]).join()`:  "a1,b2",
		`'a\rb\u2028c\u2029d\n'.match(/^.$/gm).join()`:                                    "a,b,c,d",
		`/^$/m.test('a\n') + ',' + /^$/m.test('a') + ',' + /^[$^]\^\$$/m.test('a\r^^$')`:  "true,false,true",
		`/^(?:a|^b)+$/m.exec('x\rab\rb')[0]`:                                              "b",
		`'a\r\nb'.replace(/$/gm, ';').length`:                                             "7",
		`/^a$/.test('a\r') + ',' + /^a\r$/.test('a\r')`:                                   "false,true",
		`'a💩b'.replace(/[\ud800-\udbff][\udc00-\udfff]/g, '_')`:                           "a_b",
		`'a💩b'.split(/[\uD800-\uDBFF][\uDC00-\uDFFF]/).join('|')`:                         "a|b",
		`'a💩b\ud83d'.match(/[\ud800-\udbff][\udc00-\udfff]|[^\ud800-\udfff]/g).join('|')`: "a|💩|b",
		`'\ud83d-\udca9x'.match(/[-\ud800-\udbff][-][-\udc00-\udfff]/g).length`:           "1",
		`'a👍🏽b'.match(/\ud83c[\udffb-\udfff]|[\ud800-\udbff][\udc00-\udfff]/g).length`:    "2",
		`/[\ud800-\udbff]/.test('\ud83d') + ',' + /[]/.test('a') + ',' + /[^]/m.test('')`: "true,false,false",
	} {
		evaluates(t, source, want)
	}
}
