package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"troupe/transport/peers"
)

// The commands make files that a node loads, and overwrite nothing.
func TestClusterCertificates(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "authority")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"cert DIR a", exitFailure, "cluster init"},
		{"init DIR", exitUsage, "--cluster"},
		{"init DIR --cluster a/b", exitFailure, "no name"},
		{"init DIR --cluster prod", 0, "authority of cluster prod"},
		{"init DIR --cluster prod", exitFailure, "ca.key"},
		{"cert DIR a", 0, "for node a"},
		{"cert DIR a", exitFailure, "a.key"},
		{"cert DIR b --host b.example,10.0.0.2 --host ::1", 0, "b.pem"},
		{"cert DIR ca", exitFailure, "ca.key"},
		{"cert DIR ../x", exitFailure, "no name"},
	} {
		var out bytes.Buffer
		args := strings.Fields("admin cluster " + c.args)
		for i, arg := range args {
			args[i] = strings.Replace(arg, "DIR", dir, 1)
		}
		if code := run(args, streams{in: strings.NewReader(""), out: &out, err: &out}); code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: exit code %d, %s", c.args, code, out.String())
		}
	}
	for _, node := range []string{"a", "b"} {
		if _, err := peers.LoadCerts("prod", node, peers.Files{CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, node+".pem"), Key: filepath.Join(dir, node+".key")}, zerolog.Nop()); err != nil {
			t.Error(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 6 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		want := fs.FileMode(0o644)
		if filepath.Ext(e.Name()) == ".key" {
			want = 0o600
		}
		if runtime.GOOS != "windows" && info.Mode() != want {
			t.Errorf("%s has permissions %v", e.Name(), info.Mode())
		}
	}
}
