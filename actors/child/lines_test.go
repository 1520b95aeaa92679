package child

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "\n", "\r\n", "\xff", strings.Repeat("x", lineMax), "FATAL ERROR: x\n"}), 0, 50).Draw(t, "text")
		var got []string
		l := Lines{Write: func(text string) { got = append(got, text) }}
		l.Run(strings.NewReader(strings.Join(text, "")))
		want := strings.Split(strings.Join(text, ""), "\n")
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		if len(got) != len(want) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
		for i, w := range want {
			if w = strings.TrimRight(w, "\r"); len(w) < lineMax && got[i] != strings.ToValidUTF8(w, "\ufffd") || len(got[i]) > 3*lineMax {
				t.Fatalf("%.50q, want %.50q", got[i], w)
			}
		}
	})
}
