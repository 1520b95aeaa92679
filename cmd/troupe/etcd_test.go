//go:build !noetcdserver

package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"troupe/messages/coord"
	"troupe/transport/etcd"
)

// served is the log line of a member that is ready.
const served = `^{"level":"info","client":"([^"]+)","dir":"([^"]+)","members":(\d),"time":"[^"]+","message":"etcd serves"}$`

// coordinator is a client of a member.
func coordinator(t *testing.T, url string) *etcd.Client {
	t.Helper()
	c, err := etcd.Open(t.Context(), etcd.Options{Endpoints: []string{url}, Attempt: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func put(t *testing.T, c *etcd.Client, key string) (at int64) {
	t.Helper()
	_, at, err := c.Commit(t.Context(), nil, []coord.Change{coord.Put(key, nil)})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// keys returns all keys of a member in one line, and the member's revision.
func keys(t *testing.T, c *etcd.Client) (all string, at int64) {
	t.Helper()
	found, err := c.Read(t.Context(), coord.Query{Prefix: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range found.KVs {
		all += kv.Key + " "
	}
	return all, found.At
}

// A member runs until SIGTERM. A member that is restored from a snapshot has the data of the snapshot, but no later
// data.
func TestEtcd(t *testing.T) {
	dir := t.TempDir()
	run := func(name string) (*process, *etcd.Client, string) {
		p := starting(t, "etcd", "--name", "a", "--dir", filepath.Join(dir, name), "--listen", "http://127.0.0.1:0", "--peer-listen", "http://127.0.0.1:0")
		said := prints(t, &p.err, served)
		if said[2] != filepath.Join(dir, name) || said[3] != "1" {
			t.Errorf("it serves: %q", said)
		}
		return p, coordinator(t, said[1]), said[1]
	}
	p, c, url := run("first")
	before := put(t, c, "kept")
	file := filepath.Join(dir, "snapshot")
	save := []string{"etcd", "snapshot", file, "--endpoint", url}
	if code, out, said := call(save...); code != 0 || said != "" || !strings.HasPrefix(out, "written: "+file+", a snapshot of etcd 3.") {
		t.Fatalf("exit code %d, it prints %q, %q", code, out, said)
	}
	if code, _, said := call(save...); code != exitFailure || said != "troupe: etcd: "+file+" is there already: give another file\n" {
		t.Errorf("a snapshot over another: exit code %d, %q", code, said)
	}
	put(t, c, "lost")
	restore := func(to string) (int, string, string) {
		return call("etcd", "restore", file, "--name", "a", "--dir", to, "--peer-listen", "http://127.0.0.1:0")
	}
	if code, _, said := restore(filepath.Join(dir, "first")); code != exitFailure || !strings.Contains(said, "is not empty: give a directory that does not exist") {
		t.Errorf("over a member that runs: exit code %d, %q", code, said)
	}
	if code, out, said := restore(filepath.Join(dir, "second")); code != 0 || !strings.HasPrefix(out, "restored: ") || said != "" {
		t.Fatalf("exit code %d, it prints %q, %q", code, out, said)
	}
	_, again, _ := run("second")
	if all, at := keys(t, again); all != "kept " || at < before+1_000_000_000 {
		t.Errorf("restored: %s at revision %d", all, at)
	}
	if all, _ := keys(t, c); all != "kept lost " {
		t.Errorf("the source has %s", all)
	}
	p.signal(syscall.SIGTERM)
	if code := p.wait(t); code != 0 || !regexp.MustCompile(`"message":"etcd stops"}\n\z`).MatchString(p.err.String()) || strings.Contains(p.err.String(), `"level":"error"`) {
		t.Errorf("exit code %d", code)
	}
	if code, _, said := call("etcd", "snapshot", filepath.Join(dir, "other"), "--endpoint", url); code != exitFailure || !strings.Contains(said, url+" does not answer: dial tcp ") {
		t.Errorf("of nobody: exit code %d, %q", code, said)
	}
}

// With certificates, a member answers only clients that present a certificate of the same authority.
func TestEtcdTLS(t *testing.T) {
	dir := t.TempDir()
	ca, cert, key := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "a.pem"), filepath.Join(dir, "a.key")
	for _, args := range [][]string{{"init", dir, "--cluster", "prod"}, {"cert", dir, "a", "--host", "127.0.0.1"}} {
		if code, _, said := call(append([]string{"admin", "cluster"}, args...)...); code != 0 {
			t.Fatal(said)
		}
	}
	files := []string{"--ca", ca, "--cert", cert, "--key", key}
	p := starting(t, append([]string{"etcd", "--name", "a", "--dir", filepath.Join(dir, "a"), "--listen", "https://127.0.0.1:0", "--peer-listen", "https://127.0.0.1:0"}, files...)...)
	url := prints(t, &p.err, served)[1]
	if code, _, said := call(append([]string{"etcd", "snapshot", filepath.Join(dir, "file"), "--endpoint", url}, files...)...); code != 0 {
		t.Error(said)
	}
	text, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("without a certificate: %v", err)
	}
}

// A signal also ends a member that is waiting for other members.
func TestEtcdWithoutAMajority(t *testing.T) {
	p := starting(t, "etcd", "--name", "a", "--dir", t.TempDir(), "--listen", "http://127.0.0.1:0", "--peer-listen", "http://127.0.0.1:0",
		"--peer", "a=http://127.0.0.1:1", "--peer", "b=http://127.0.0.1:2", "--peer", "c=http://127.0.0.1:3")
	prints(t, &p.err, `"message":"etcd starts: it serves when a majority of its members runs"}$`)
	p.signal(syscall.SIGTERM)
	if code := p.wait(t); code != 0 || strings.Contains(p.err.String(), "troupe: ") {
		t.Errorf("exit code %d", code)
	}
}

// Data that a process has acknowledged survives its SIGKILL.
func TestEtcdKilled(t *testing.T) {
	dir := t.TempDir()
	run := func() (*exec.Cmd, *etcd.Client) {
		said := new(output)
		cmd := exec.CommandContext(t.Context(), "troupe", "etcd", "--name", "a", "--dir", dir, "--listen", "http://127.0.0.1:0", "--peer-listen", "http://127.0.0.1:0")
		cmd.Stderr = said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, coordinator(t, prints(t, said, served)[1])
	}
	killed, c := run()
	put(t, c, "kept")
	_ = killed.Process.Kill()
	_ = killed.Wait()
	again, c := run()
	if all, _ := keys(t, c); all != "kept " {
		t.Errorf("it has %s", all)
	}
	if err := again.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := again.Wait(); err != nil {
		t.Error(err)
	}
}

// A command that cannot run prints one line that says what to do.
func TestEtcdRefuses(t *testing.T) {
	const tls = " --ca ca.pem --cert a.pem --key a.key"
	for line, want := range map[string]string{
		"--dir d": "missing flags: --name=NAME",
		"--name a --dir d --listen http://10.0.0.1:2379":                                     "http is for loopback addresses only: give an https URL",
		"--name a --dir d --peer-listen http://0.0.0.0:2380":                                 "http is for loopback addresses only",
		"--name a --dir d --peer a=http://127.0.0.1:1 --peer b=http://b:1":                   "--peer b http://b:1: http is for loopback",
		"--name a --dir d --listen https://10.0.0.1:2379":                                    "https needs --ca, --cert and --key",
		"--name a --dir d --listen https://10.0.0.1:2379 --cert a.pem":                       "--ca, --cert and --key belong together: give all three",
		"--name a --dir d" + tls:                                                             "no URL begins with https://",
		"--name a --dir d --listen 127.0.0.1:2379":                                           "give a URL like http://127.0.0.1:2379",
		"--name a --dir d --listen http://127.0.0.1":                                         "give a URL like",
		"--name a --dir d --peer b=http://127.0.0.1:1":                                       "add --peer a=URL",
		"restore s --name a --dir d --peer b=http://127.0.0.1:1":                             "add --peer a=URL",
		"snapshot s --endpoint http://10.0.0.1:2379":                                         "give an https URL",
		"snapshot s --user root":                                                             "--user and --password-file belong together",
		"member --name a --dir d --peer a=http://127.0.0.1:1 --peer b=http://127.0.0.1:2":    "two members are worse than one, because both must be up: run one, or three",
		"restore s --name a --dir d --peer a=http://127.0.0.1:1 --peer b=http://127.0.0.1:2": "run one, or three",
		"restore none --name a --dir d":                                                      "none is no snapshot, or it is damaged: open none",
		"snapshot s --endpoint https://127.0.0.1:1 --ca none":                                "open none: no such file",
		"snapshot s --user root --password-file none":                                        "open none: no such file",
		"--name a --dir d --listen https://127.0.0.1:0 --ca none --cert none --key none":     "open none: no such file",
		"--name a --dir d/e/" + strings.Repeat("x", 300):                                     "file name too long",
	} {
		t.Run(line, func(t *testing.T) {
			t.Chdir(t.TempDir())
			code, out, said := call(append([]string{"etcd"}, strings.Fields(line)...)...)
			if code == 0 || out != "" || !strings.Contains(said, want) || strings.Count(strings.TrimSuffix(said, "Try troupe --help.\n"), "\n") != 1 {
				t.Errorf("exit code %d, it prints %q, %q", code, out, said)
			}
			if left, err := filepath.Glob("d/member"); len(left) > 0 || err != nil {
				t.Errorf("it leaves %v, %v", left, err)
			}
		})
	}
}
