package js_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"troupe/transport/client/js"
)

var update = flag.Bool("update", false, "write dist/client.js")

// build bundles the TypeScript in src.
func build(t *testing.T) []byte {
	t.Helper()
	var pack struct{ Name, Version, License string }
	text, err := os.ReadFile("package.json")
	if err == nil {
		err = json.Unmarshal(text, &pack)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := api.Build(api.BuildOptions{
		EntryPoints: []string{"src/index.ts"}, Bundle: true, Outfile: "dist/client.js", Format: api.FormatESModule, Platform: api.PlatformNeutral,
		Target: api.ES2022, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone, LogLevel: api.LogLevelSilent,
		Banner: map[string]string{"js": "// " + pack.Name + " " + pack.Version + ", " + pack.License + ". Built from TypeScript: transport/client/js."},
	})
	for _, m := range r.Errors {
		t.Errorf("%+v: %s", m.Location, m.Text)
	}
	if len(r.OutputFiles) != 1 {
		t.Fatalf("%d files", len(r.OutputFiles))
	}
	return r.OutputFiles[0].Contents
}

// dist/client.js must be the current build of src. It is in the repository, so that the host can be built
// without npm and without running anything.
func TestTheBundleIsCurrent(t *testing.T) {
	want := build(t)
	if *update {
		if err := os.WriteFile("dist/client.js", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	served := httptest.NewRecorder()
	js.Handler().ServeHTTP(served, httptest.NewRequest(http.MethodGet, "/client.js", nil))
	if !bytes.Equal(want, served.Body.Bytes()) {
		t.Error("dist/client.js is not what src makes: run make js, or go test ./transport/client/js -run TestTheBundleIsCurrent -update")
	}
}

// parts bundles everything that the files in src export, also what the client itself does not export.
// The list in virtual time tests these parts.
func parts(t *testing.T) (path string) {
	t.Helper()
	files, err := filepath.Glob("src/*.ts")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	path = filepath.Join(t.TempDir(), "bundle.mjs")
	var all strings.Builder
	for _, file := range files {
		fmt.Fprintf(&all, "export * from './%s'\n", filepath.Base(file))
	}
	r := api.Build(api.BuildOptions{Stdin: &api.StdinOptions{Contents: all.String(), ResolveDir: "src", Loader: api.LoaderTS},
		Bundle: true, Outfile: path, Write: true, Format: api.FormatESModule, Target: api.ES2022, LogLevel: api.LogLevelSilent})
	if len(r.Errors) > 0 {
		t.Fatal(r.Errors[0].Text)
	}
	return path
}
