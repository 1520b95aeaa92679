package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// builder runs buildah, which needs no daemon and no registry, with its images in a folder of the test.
type builder struct {
	storage []string
	chroot  []string // isolation flags for the commands build and run
}

func (b builder) command(args ...string) *exec.Cmd {
	return exec.Command("buildah", append(slices.Clone(b.storage), args...)...)
}

func (b builder) output(t *testing.T, args ...string) string {
	t.Helper()
	c := b.command(args...)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		t.Fatalf("buildah %s: %v\n%s%s", strings.Join(args, " "), err, out, &said)
	}
	return strings.TrimSpace(string(out))
}

// newBuilder skips the test if no builder is installed or if the builder cannot run containers. It checks that with a
// container that has only a static binary and none of the image's settings, so that an error in the Dockerfile does not
// skip the test.
func newBuilder(t *testing.T, troupe string) builder {
	t.Helper()
	if _, err := exec.LookPath("buildah"); err != nil {
		t.Skip("buildah is not installed: the image is not built; its files were tried in an empty root")
	}
	dir := t.TempDir()
	b := builder{
		storage: []string{"--storage-driver", "vfs", "--root", filepath.Join(dir, "root"), "--runroot", filepath.Join(dir, "run")},
		chroot:  []string{"--isolation", "chroot"},
	}
	try := func(args ...string) string {
		out, err := b.command(args...).CombinedOutput()
		if err != nil {
			t.Skipf("buildah cannot run containers here, so the image is not built: buildah %s: %v: %s", args[0], err, out)
		}
		return strings.TrimSpace(string(out))
	}
	c := try("from", "scratch")
	try("copy", c, troupe, "/troupe")
	try(slices.Concat([]string{"run"}, b.chroot, []string{"--env", asTroupe + "=no file", "--volume", dir + ":/etc", c, "--", "/troupe", "version"})...)
	try("rm", c)
	return b
}

// descendants returns the process and all its descendants. The youngest generation is last.
func descendants(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		lists, _ := filepath.Glob("/proc/" + strconv.Itoa(all[i]) + "/task/*/children")
		for _, list := range lists {
			text, _ := os.ReadFile(list)
			for _, field := range strings.Fields(string(text)) {
				if child, err := strconv.Atoi(field); err == nil {
					all = append(all, child)
				}
			}
		}
	}
	return all[1:]
}

// buildAndRun builds the image from the unchanged docs/packaging/Dockerfile. A host in it starts, answers, and ends
// when it receives a signal. The build stage would need an image from a registry, so a folder with its output replaces
// it (--build-context).
func buildAndRun(t *testing.T, troupe string) {
	long(t)
	b := newBuilder(t, troupe)

	made := t.TempDir()
	out := filepath.Join(made, "out")
	certificates := filepath.Join(made, "etc", "ssl", "certs")
	text, err := os.ReadFile(troupe)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.MkdirAll(certificates, 0o755), os.MkdirAll(filepath.Join(out, "etc", "troupe"), 0o755),
		os.Mkdir(filepath.Join(out, "data"), 0o755), os.Mkdir(filepath.Join(out, "tmp"), 0o777), os.Chmod(filepath.Join(out, "tmp"), 0o777|os.ModeSticky),
		os.WriteFile(filepath.Join(certificates, "ca-certificates.crt"), nil, 0o644), os.WriteFile(filepath.Join(out, "troupe"), text, 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b.output(t, slices.Concat([]string{"bud", "--quiet"}, b.chroot, []string{
		"--build-arg", "TARGETOS=linux", "--build-arg", "TARGETARCH=", "--build-context", "build=" + made,
		"--file", filepath.Join(packaging, "Dockerfile"), "--tag", "troupe", packaging,
	})...)
	var image struct {
		OCI struct {
			Config struct {
				User, StopSignal string
				Entrypoint, Cmd  []string
				Volumes          map[string]struct{}
			} `json:"config"`
		} `json:"OCIv1"`
	}
	if err := json.Unmarshal([]byte(b.output(t, "inspect", "--type", "image", "localhost/troupe")), &image); err != nil {
		t.Fatal(err)
	}
	c := image.OCI.Config
	if _, kept := c.Volumes["/data"]; c.User != "65532:65532" || c.StopSignal != "SIGTERM" || !kept {
		t.Errorf("the image is %+v", c)
	}

	configured := t.TempDir()
	for _, err := range []error{
		os.Chmod(configured, 0o777), // the host in the container runs as another user and writes its addresses here
		os.WriteFile(filepath.Join(configured, "troupe.yaml"), []byte("announce: /etc/troupe/announced.json\n"+inContainer), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	container := b.output(t, "from", "localhost/troupe")
	run := b.command(slices.Concat([]string{"run"}, b.chroot, []string{"--env", asTroupe + "=no file", "--volume", configured + ":/etc/troupe", container, "--"}, c.Entrypoint, c.Cmd)...)
	var said bytes.Buffer
	run.Stdout, run.Stderr = &said, &said
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = run.Wait() }()
	t.Cleanup(func() {
		select {
		case <-ended:
		default:
			_ = syscall.Kill(-run.Process.Pid, syscall.SIGKILL)
			<-ended
		}
	})
	api, err := announcedAPI(t, filepath.Join(configured, "announced.json"), ended)
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	for _, page := range []string{"/healthz", "/readyz"} {
		resp, err := http.Get("http://" + api + page)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s answers %d %s", page, resp.StatusCode, text)
		}
	}
	// buildah does not forward signals. A container runtime would send them to the process that it has started.
	all := descendants(run.Process.Pid)
	if len(all) == 0 {
		t.Fatal("buildah has started no process")
	}
	if err := syscall.Kill(all[len(all)-1], syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatalf("the host does not end\n%s", &said)
	}
	if !run.ProcessState.Success() || !strings.Contains(said.String(), `"store opened"`) {
		t.Errorf("%v\n%s", run.ProcessState, &said)
	}
}
