package config

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"troupe/transport/host"
)

// printed checks that the printed form of a configuration without secrets loads to the same configuration. It returns
// the printed text.
func printed(t *testing.T, r *Resolved) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "not shown") {
		return b.String()
	}
	l := newLoader(host.Config{})
	l.file("file printed", b.Bytes())
	again, err := l.result(nil, false)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	clean(reflect.ValueOf(&again.Config).Elem())
	want := r.Config
	clean(reflect.ValueOf(&want).Elem())
	if !reflect.DeepEqual(again.Config, want) {
		t.Errorf("it is another configuration\n%+v\n%+v\n%s", again.Config, want, b.String())
	}
	return b.String()
}

// clean replaces empty lists by nil, on copies.
func clean(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			clean(v.Field(i))
		}
	case reflect.Slice:
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		if v.Set(list); v.Len() == 0 {
			v.SetZero()
		}
		for i := range v.Len() {
			clean(v.Index(i))
		}
	}
}

func TestPrintNamesEachOrigin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "troupe.yaml")
	if err := os.WriteFile(file, []byte("region: eu-1\nworkers: 3\nreconnect: {window: 11s}\nlog: {level: warn}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Resolve(Sources{
		Defaults: host.Defaults(), File: file,
		Environ: []string{"TROUPE_WORKERS=4", `TROUPE_FLEETS=[{"id": "fleet-a", "gameSessionsMax": 5, "locations": [{"name": "eu-1", "cost": 0.25}]}]`},
		Flags:   []Flag{{"--log-level", "log.level", "debug"}, {"--set", "websocket.proxies", `["10.0.0.0/8"]`}},
	})
	if err != nil || r.Invalid != nil {
		t.Fatal(err, r.Invalid)
	}
	text := printed(t, r)
	for _, want := range []string{
		`region: "?eu-1"? +# file .*troupe\.yaml`, `workers: 4 +# environment TROUPE_WORKERS`, `account: "000000000000" +# default`,
		`  window: 11s +# file `, `  level: debug +# flag --log-level`, `  format: json +# default`, `  proxies: \["10\.0\.0\.0/8"\] +# flag --set`,
		`fleets: +# environment TROUPE_FLEETS\n  - id: fleet-a\n    gameSessionsMax: 5\n    locations:\n      - name: eu-1\n        cost: 0\.25\n`,
		`aliases: \[\] +# default`,
	} {
		if !regexp.MustCompile(`(?m)^` + want).MatchString(text) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	c := r.Config
	if want := []host.Fleet{{ID: "fleet-a", GameSessionsMax: 5, Locations: []host.FleetLocation{{Name: "eu-1", Cost: 0.25}}}}; !reflect.DeepEqual(c.Fleets, want) {
		t.Errorf("the fleets are %+v", c.Fleets)
	}
	if c.Reconnect.Window != 11*time.Second {
		t.Errorf("the window is %v", c.Reconnect.Window)
	}
}

func TestPrintShowsNoSecret(t *testing.T) {
	const secret = "a-secret-that-nobody-may-see"
	r, err := Resolve(Sources{Defaults: host.Defaults(), Environ: []string{
		`TROUPE_API_KEYS=[{"id": "TRPEA2B3C4", "secret": "` + secret + `", "sessionToken": "` + secret + `"}, {"id": "TRPEOTHER", "secretEnv": "OTHER"}]`,
		"OTHER=" + secret + secret, "TROUPE_EVENTS_SSE_SECRET=" + secret,
		`TROUPE_EVENTS_SINKS=[{"secret": "` + secret + `", "name": "a", "all": true, "type": "webhook-raw", "url": "http://127.0.0.1/"}]`,
	}})
	if err != nil || r.Invalid != nil {
		t.Fatal(err, r.Invalid)
	}
	text := printed(t, r)
	if strings.Contains(text, secret) || strings.Count(text, "not shown") != 5 || !strings.Contains(text, "secretEnv: OTHER") {
		t.Error(text)
	}
	// An error must not print it either.
	for _, pair := range []string{`TROUPE_API_KEYS=[{"id": "TRPEA2B3C4", "secret": 7777777777}]`, `TROUPE_API_KEYS=[{"secret": "` + secret + `"`} {
		if _, err := Resolve(Sources{Defaults: host.Defaults(), Environ: []string{pair}}); err == nil || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "777") {
			t.Errorf("%v", err)
		}
	}
}

func TestDefaultsArePrinted(t *testing.T) {
	text := printed(t, &Resolved{Config: host.Defaults()})
	for line := range strings.Lines(text) {
		if key, _, _ := strings.Cut(line, "#"); !strings.Contains(line, "# default") && !strings.HasSuffix(strings.TrimSpace(key), ":") && !strings.HasPrefix(line, "  ") {
			t.Errorf("no origin: %s", line)
		}
	}
}
