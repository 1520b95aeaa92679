package host

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// A host fails if one of its listeners ends for any reason. An orderly stop is not a failure.
func TestAHostWithoutAListenerFails(t *testing.T) {
	for name, lose := range map[string]func(h *testHost){
		"api": func(h *testHost) { h.api.Close() }, "": func(h *testHost) { h.Close() },
	} {
		synctest.Test(t, func(t *testing.T) {
			var failed []string
			h := begin(t, Options{Config: config(t), OnFailure: func(why string) { failed = append(failed, why) }})
			if a := h.ask(http.MethodGet, "/readyz", ""); a.Body.Close() != nil || a.StatusCode != http.StatusOK {
				t.Error(a.Status)
			}
			lose(h)
			synctest.Wait()
			if text := strings.Join(failed, "; "); (text != "") != (name != "") || !strings.HasPrefix(text, name) || len(failed) > 1 {
				t.Errorf("%s: %s", name, text)
			}
		})
	}
}
