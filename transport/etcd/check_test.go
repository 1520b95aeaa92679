package etcd

import (
	"strings"
	"testing"
)

func TestVersions(t *testing.T) {
	for text, want := range map[string]string{
		"3.4.23": "too old", "3.5.12": "too old", "3.5.13": "3.5.33", "3.5.33": "", "3.6.0": "3.6.14", "3.6.14": "", "3.7.0-rc.1": "3.7.1",
		"3.7.3": "", "3.8.0": "", "4.0.0": "", "2.9.99": "too old", "": "invalid", "3.5": "invalid", "3.5.x": "invalid", "3.5.13.1": "invalid", "99999999999999999999.0.0": "invalid",
	} {
		got := ""
		v, err := supported(text)
		switch {
		case err != nil && strings.Contains(err.Error(), "upgrade it to 3.5.13 or newer"): // CL-35, in part
			got = "too old"
		case err != nil && strings.Contains(err.Error(), "use etcd 3.5.13 or newer"):
			got = "invalid"
		case v.advises() != nil:
			got = v.advises().String()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzVersion(f *testing.F) {
	f.Add("3.5.13")
	f.Add("3.7.0-rc.1")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseVersion(text)
		if again, err2 := parseVersion(v.String()); err == nil && (err2 != nil || again != v) {
			t.Errorf("%q: %v, then %v, %v", text, v, again, err2)
		}
	})
}
