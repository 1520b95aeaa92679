package js

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextMakesOneMarkOfEachMaximalPart(t *testing.T) {
	for in, marks := range map[string]int{
		"": 0, "ok": 0, "\xff": 1, "\xc0\xaf": 2, "\xe2\x82": 1, "\xe2\x82\xe2\x82": 2, "\xf0\x9f\x8e": 1, "\xf0\x9f": 1, "\xf0": 1,
		"\xe0\x80\x80": 3, "\xed\xa0\x80": 3, "\xf4\x90\x80\x80": 4, "\xf5\x80": 2, "\x80\x80": 2, "\xe2\x28\xa1": 2,
	} {
		if got := strings.Count(text([]byte(in)), "\ufffd"); got != marks {
			t.Errorf("%q: %d marks, want %d", in, got, marks)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a", "\xff", "a\xe2\x82b", "\xf0\x9f\x8e\xb2", "\xed\xa0\x80"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := text(b)
		if !utf8.ValidString(got) || utf8.Valid(b) && got != string(b) || text([]byte(got)) != got {
			t.Errorf("%q: %q", b, got)
		}
		// Without the marks, what is left are the characters that Go finds, too.
		if plain := strings.ToValidUTF8(string(b), ""); strings.ReplaceAll(got, "\ufffd", "") != strings.ReplaceAll(plain, "\ufffd", "") {
			t.Errorf("%q: %q, %q", b, got, plain)
		}
	})
}
