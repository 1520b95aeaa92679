package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"troupe/cmd/internal/config"
)

const packaging = "../../docs/packaging"

// dockerfile returns the instructions of the last stage with their values.
func dockerfile(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(packaging, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields("FROM ARG WORKDIR COPY RUN ENV USER VOLUME EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD")
	said := make(map[string][]string)
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", "")) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		instruction, value, _ := strings.Cut(line, " ")
		if !slices.Contains(known, instruction) || value == "" {
			t.Errorf("the line %q", line)
		}
		if instruction == "FROM" {
			said = make(map[string][]string)
		}
		said[instruction] = append(said[instruction], strings.TrimSpace(value))
	}
	return said
}

// staticTroupe returns the path of a binary that runs without system libraries, like the one in the image.
func staticTroupe(t *testing.T) string {
	t.Helper()
	troupe, err := exec.LookPath("troupe")
	if err != nil {
		t.Fatal(err)
	}
	binary, err := elf.Open(troupe)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	if slices.ContainsFunc(binary.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		// This test binary is linked with cgo, for example for the race detector, and needs system libraries.
		long(t)
		troupe = filepath.Join(t.TempDir(), "troupe")
		build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", troupe, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return troupe
}

// inContainer is the configuration of the host in the image: loopback addresses and free ports.
const inContainer = `
api: {addr: "127.0.0.1:0"}
websocket: {addr: "127.0.0.1:0"}
fast: {addr: "127.0.0.1:0"}
wss: {addr: "127.0.0.1:0"}
dtls: {addr: "127.0.0.1:0"}
kcp: {addr: "127.0.0.1:0"}
fleets: [{id: fleet-arena, name: arena, gameSessionsMax: 5}]
`

// announcedAPI waits until a host has written its addresses and returns the address of its API. ended is closed when
// the host has ended.
func announcedAPI(t *testing.T, file string, ended <-chan struct{}) (string, error) {
	t.Helper()
	deadline := time.After(patience)
	for {
		var at struct{ API string }
		if text, err := os.ReadFile(file); err == nil && yaml.Unmarshal(text, &at) == nil && at.API != "" { // JSON is YAML
			return at.API, nil
		}
		select {
		case <-ended:
			return "", errors.New("the host has ended")
		case <-deadline:
			return "", errors.New("the host does not start")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// The image contains a static binary, certificates and empty folders, and runs without privileges. Running the same
// files in an otherwise empty root folder shows that nothing is missing, even if no builder is installed.
func TestTheImageHasAllThatAHostNeeds(t *testing.T) {
	image := dockerfile(t)
	if text, err := os.ReadFile(filepath.Join(packaging, "Dockerfile")); err != nil || regexp.MustCompile(`(?m)^ARG TARGET\w+=`).Match(text) {
		t.Error("a default goes before the platform that is asked for: on another one, the image has a binary that does not run there", err)
	}
	if from := image["FROM"]; len(from) != 1 || from[0] != "scratch" || image["USER"][0] != "65532:65532" || image["ENTRYPOINT"][0] != `["/troupe"]` {
		t.Fatalf("%v", image)
	}
	troupe := staticTroupe(t)
	t.Run("InAnEmptyRoot", func(t *testing.T) { runInAnEmptyRoot(t, image, troupe) })
	t.Run("BuiltAndRun", func(t *testing.T) { buildAndRun(t, troupe) })
}

// runInAnEmptyRoot runs the host with a root folder that contains only the image's files.
func runInAnEmptyRoot(t *testing.T, image map[string][]string, troupe string) {
	if os.Getuid() != 0 {
		t.Skip("not root: an empty root folder cannot be entered")
	}
	const user = 65532
	root, err := os.MkdirTemp("", "troupe-image-") // t.TempDir is inside a folder that only this user may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	copied, err := os.ReadFile(troupe)
	if err != nil {
		t.Fatal(err)
	}
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(root, "data")
	must(os.Chmod(root, 0o755), os.MkdirAll(filepath.Join(root, "etc", "troupe"), 0o755), os.Mkdir(data, 0o755), os.Chown(data, user, user),
		os.Mkdir(filepath.Join(root, "tmp"), 0o777), os.Chmod(filepath.Join(root, "tmp"), 0o777|os.ModeSticky), os.WriteFile(filepath.Join(root, "troupe"), copied, 0o755),
		os.WriteFile(filepath.Join(root, "etc", "troupe", "troupe.yaml"), []byte("announce: /data/announced.json\n"+inContainer), 0o644))
	cmd := exec.Command("/troupe", strings.Fields(regexp.MustCompile(`[\["\],]+`).ReplaceAllString(image["CMD"][0], " "))...)
	cmd.Env, cmd.Dir = append(strings.Fields(image["ENV"][0]), asTroupe+"=no file"), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	must(cmd.Start())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	stop := func() error {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			<-ended
		}
		if !cmd.ProcessState.Success() {
			return errors.New(cmd.ProcessState.String())
		}
		return nil
	}
	api, err := announcedAPI(t, filepath.Join(data, "announced.json"), ended)
	if err != nil {
		t.Fatalf("%v: %v\n%s", err, stop(), &said)
	}
	resp, err := http.Get("http://" + api + "/readyz")
	if err != nil {
		t.Fatal(err, stop())
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err := stop(); err != nil || resp.StatusCode != 200 {
		t.Errorf("%d %s, %v\n%s", resp.StatusCode, text, err, &said)
	}
	for _, name := range []string{"store.db", "tls"} {
		if _, err := os.Stat(filepath.Join(data, name)); err != nil {
			t.Error(err)
		}
	}
}

// manifest holds the fields of Kubernetes objects that the test reads.
type manifest struct {
	Kind string
	Data map[string]string
	Spec struct {
		Template struct {
			Spec struct {
				Grace      int `yaml:"terminationGracePeriodSeconds"`
				Containers []struct {
					Env   []struct{ Name string }
					Ports []struct {
						Name, Protocol string
						Container      int `yaml:"containerPort"`
						Host           int `yaml:"hostPort"`
					}
					Ready    probe `yaml:"readinessProbe"`
					Alive    probe `yaml:"livenessProbe"`
					Started  probe `yaml:"startupProbe"`
					Security struct {
						ReadOnly bool `yaml:"readOnlyRootFilesystem"`
					} `yaml:"securityContext"`
					Mounts []struct {
						Path string `yaml:"mountPath"`
					} `yaml:"volumeMounts"`
				}
			}
		}
	}
}

type probe struct {
	Get struct{ Path, Port string } `yaml:"httpGet"`
}

// The manifests match the host: its configuration, ports, probes and drain time. A misspelt field would be empty here.
func TestKubernetesManifestsFitTheHost(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(packaging, "kubernetes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]manifest)
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var m manifest
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all[m.Kind] = m
	}
	file := filepath.Join(t.TempDir(), "troupe.yaml")
	if err := os.WriteFile(file, []byte(all["ConfigMap"].Data["troupe.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	pod := all["StatefulSet"].Spec.Template.Spec
	if len(pod.Containers) != 1 {
		t.Fatalf("%d containers", len(pod.Containers))
	}
	host := pod.Containers[0]
	environ := []string{"GAME_SECRET=0123456789012345678901234567890123456789"}
	environ = append(environ, strings.Fields(dockerfile(t)["ENV"][0])...)
	for _, e := range host.Env {
		if e.Name == "TROUPE_PUBLIC_IP" {
			environ = append(environ, e.Name+"=192.0.2.7")
		}
	}
	c, err := config.Load(config.Sources{Defaults: serveDefaults(), File: file, Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	if grace := time.Duration(pod.Grace) * time.Second; grace < c.Drain.Grace+15*time.Second {
		t.Errorf("the pod is killed after %v, a drain may take %v", grace, c.Drain.Grace)
	}
	for name, addr := range map[string]string{"api": c.API.Addr, "websocket": c.WebSocket.Addr, "fast": c.Fast.Addr} {
		found := false
		for _, p := range host.Ports {
			if p.Name == name && strings.HasSuffix(addr, ":"+strconv.Itoa(p.Container)) {
				found = name == "api" || p.Host == p.Container && (p.Protocol == "UDP") == (name == "fast")
			}
		}
		if !found {
			t.Errorf("no port for %s at %s", name, addr)
		}
	}
	if host.Ready.Get.Path != "/readyz" || host.Started.Get.Path != "/readyz" || host.Alive.Get.Path != "/healthz" || !host.Security.ReadOnly {
		t.Errorf("%+v", host)
	}
	var mounted []string
	for _, m := range host.Mounts {
		mounted = append(mounted, m.Path)
	}
	if slices.Sort(mounted); !slices.Equal(mounted, []string{"/data", "/etc/troupe", "/tmp"}) {
		t.Errorf("mounted: %v", mounted)
	}
}
