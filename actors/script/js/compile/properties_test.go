package compile

import (
	"strings"
	"testing"
)

// What Node.js says of the same regular expressions.
func TestUnicodePropertiesAreWrittenOut(t *testing.T) {
	for source, want := range map[string]string{
		`/^\p{L}+$/u.exec('žluťΩ日')[0]`:                                                "žluťΩ日",
		`/[\p{L}\d_]+/u.exec('--žá9_-')[0]`:                                            "žá9_",
		`/[^\p{L}\s]+/u.exec('ab 1!c')[0]`:                                             "1!",
		`/\P{L}+/u.exec('ab12]^-\\c')[0]`:                                              `12]^-\`,
		`/[\P{Letter}]+/u.exec('ab12]c')[0]`:                                           "12]",
		`/\p{Lu}/u.exec('aÁ')[0] + /\p{Lu}/u.test('a')`:                                "Áfalse",
		`/\p{Uppercase_Letter}+/u.exec('abCDe')[0]`:                                    "CD",
		`/\p{gc=Nd}\p{General_Category=Decimal_Number}/u.test('1٣')`:                   "true",
		`/\p{Script=Greek}+/u.exec('abΩμega')[0]`:                                      "Ωμ",
		`/\p{sc=Cyrl}+\p{Script=Han}/u.test('Яя日')`:                                    "true",
		`/\p{So}/u.exec('a😀b')[0].length`:                                              "2",
		`/^\P{L}$/u.test('😀')`:                                                         "true",
		`/(?<=\p{L})\p{Nd}(?!\p{P})/u.exec('1a2.b3')[0]`:                               "3",
		`/(?<name>\p{Lu}\p{Ll}*) \k<name>/u.exec('Žofie Žofie').groups.name`:           "Žofie",
		`/\p{Lu}/iu.test('á')`:                                                         "true",
		`'Dobrý den, světe! 1'.match(/\p{L}+/gu).join('|')`:                            "Dobrý|den|světe",
		`'a b'.replace(/\p{White_Space}/u, '_')`:                                       "a_b",
		`/^\p{Alphabetic}\p{ASCII}\p{Any}\p{ID_Start}\p{ID_Continue}$/u.test('éa日x1')`: "true",
		`/\p{P}+/u.exec('a[]^-/\\b')[0]`:                                               "[]",
		`/\p{Sc}\p{Sm}/u.test('€+')`:                                                   "true",
		`/\\p\{L\}/u.test('\\p{L}')`:                                                   "true",
		`/\p{L}/.test('p{L}')`:                                                         "true",
		`/\u{1F600}\p{N}/u.test('😀1')`:                                                 "true",
	} {
		evaluates(t, source, want)
	}
	for _, source := range []string{`/\p{Emoji}/u`, `/\p{Script_Extensions=Greek}/u`, `/\p{nope}/u`, `/\p{L/u`, `/` + strings.Repeat(`\p{L}`, 1000) + `/u`} {
		if _, err := unit(t, "main.js", "exports.x = "+source).Program("main.js"); err == nil || !strings.Contains(err.Error(), "main.js:1:13: SyntaxError: the embedded engine does not have this \\p{...}") {
			t.Errorf("%.40s: %v", source, err)
		}
	}
}

func FuzzExpandProperties(f *testing.F) {
	for _, s := range []string{`\p{L}`, `[\P{Nd}\]]\p{Script=Greek}`, `\\p{L}`, `\p{`, `\p`, `\`, `[[\p{L}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		if out, ok := expandProperties(pattern); ok && !strings.Contains(pattern, `{`) && out != pattern {
			t.Errorf("%q became %q", pattern, out)
		}
	})
}

// evaluates fails unless an expression has a value.
func evaluates(t *testing.T, source, want string) {
	t.Helper()
	p, err := unit(t, "main.js", "exports.x = "+source).Program("main.js")
	if err != nil {
		t.Errorf("%s: %v", source, err)
		return
	}
	o, err := run(p)
	if err != nil {
		t.Errorf("%s: %v", source, err)
	} else if got := o.Get("x").String(); got != want {
		t.Errorf("%s: %q, want %q", source, got, want)
	}
}
