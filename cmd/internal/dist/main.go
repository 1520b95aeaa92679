// Command dist builds the release archives and the file SHA256SUMS. Each archive is for one platform and contains the
// stripped binary, the licences, introductory documents and a systemd unit. The same commit and Go version produce the
// same bytes.
//
// With -notices it builds nothing. Instead it writes the licences of all code that is linked into a binary. With -check
// as well, it fails if that file is not current.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

func main() {
	to := flag.String("to", "bin/dist", "the folder of the archives, which is made anew")
	platforms := flag.String("platforms", "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64", "that are built")
	licences := flag.Bool("notices", false, "write "+noticesFile+" instead")
	check := flag.Bool("check", false, "with -notices: write nothing, and fail if the file is not current")
	flag.Parse()
	all := strings.Fields(*platforms)
	var err error
	if *licences {
		err = notices(*check, all)
	} else {
		err = run(*to, all)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// files are the files of an archive other than the binary: the name in the archive, and the path in the source tree.
var files = []struct{ name, from string }{
	{"LICENSE", "LICENSE"},
	{"THIRD_PARTY_NOTICES", noticesFile},
	{"README.md", "README.md"},
	{"CHANGELOG.md", "CHANGELOG.md"},
	{"troupe.service", "docs/packaging/troupe.service"},
	{"kubernetes.yaml", "docs/packaging/kubernetes.yaml"},
	{"troupe.schema.json", "cmd/internal/config/schema.json"},
}

// made is a completion script in an archive, printed by troupe completion for a shell.
type made struct {
	name, shell string
	text        []byte
}

// makeFiles runs a binary for this machine to print the completion scripts. It also returns the version of the binary.
// The scripts are printed by the binary because they come from the same source as --help.
func makeFiles(binary []byte) (version string, all []made, err error) {
	dir, err := os.MkdirTemp("", "troupe-dist-")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(dir)
	troupe := filepath.Join(dir, "troupe.exe") // Windows runs only files named .exe
	if err := os.WriteFile(troupe, binary, 0o755); err != nil {
		return "", nil, err
	}
	output := func(command ...string) ([]byte, error) {
		c := exec.Command(troupe, command...)
		c.Stderr = os.Stderr
		text, err := c.Output()
		if err != nil {
			return nil, fmt.Errorf("troupe %s: %w", strings.Join(command, " "), err)
		}
		return text, nil
	}
	text, err := output("version")
	if err != nil {
		return "", nil, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	all = []made{{name: "completion/troupe.bash", shell: "bash"}, {name: "completion/_troupe", shell: "zsh"}, {name: "completion/troupe.fish", shell: "fish"}}
	for i := range all {
		if all[i].text, err = output("completion", all[i].shell); err != nil {
			return "", nil, err
		}
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "troupe ")), all, nil
}

func run(to string, platforms []string) error {
	at, err := commitTime()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	// The binary for this machine prints the files for all archives.
	own, err := build(to, runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	version, made, err := makeFiles(own)
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, platform := range platforms {
		goos, goarch, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("platform %q is not like linux/amd64", platform)
		}
		binary := own
		if goos != runtime.GOOS || goarch != runtime.GOARCH {
			if binary, err = build(to, goos, goarch); err != nil {
				return err
			}
		}
		name, text, err := archive(".", version+"-"+goos+"-"+goarch, binary, made, at)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), name)
		fmt.Printf("%s  %.1f MiB\n", name, float64(len(text))/(1<<20))
	}
	return os.WriteFile(filepath.Join(to, "SHA256SUMS"), sums.Bytes(), 0o644)
}

// build returns the stripped binary for a platform. It prints each package that it compiles, because compiling takes
// minutes on a new machine.
func build(dir, goos, goarch string) ([]byte, error) {
	name := filepath.Join(dir, "troupe.build")
	defer os.Remove(name)
	c := exec.Command("go", "build", "-v", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", name, "./cmd/troupe")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	c.Stderr = os.Stderr
	fmt.Printf("compiling for %s/%s: each package that is compiled is a line\n", goos, goarch)
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("build for %s/%s: %w", goos, goarch, err)
	}
	binary, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return binary, stamped(binary)
}

// stamped returns an error if a binary does not contain its commit. Go does not record the commit in a linked worktree.
func stamped(binary []byte) error {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return err
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && s.Value != "" {
			return nil
		}
	}
	return errors.New("the binary does not know its commit: build in a clone of the repository, not in a linked worktree")
}

// commitTime returns the time of the commit. All files in the archives get this time.
func commitTime() (time.Time, error) {
	out, err := exec.Command("git", "log", "-1", "--format=%ct").Output()
	if err != nil {
		return time.Time{}, fmt.Errorf("the time of the commit: %w", err)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// archive returns the name and the content of an archive. of is its version and platform, such as 0.1.0-linux-amd64.
// The archive is .zip for Windows and .tar.gz otherwise.
func archive(root, of string, binary []byte, printed []made, at time.Time) (name string, text []byte, err error) {
	folder, executable, windows := "troupe-"+of, "troupe", strings.Contains(of, "-windows-")
	if windows {
		executable = "troupe.exe"
	}
	var b bytes.Buffer
	add, end := tarball(&b, at)
	name = folder + ".tar.gz"
	if windows {
		add, end = zipped(&b, at)
		name = folder + ".zip"
	}
	if err := add(path.Join(folder, executable), 0o755, binary); err != nil {
		return "", nil, err
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(root, f.from))
		if err != nil {
			return "", nil, err
		}
		if err := add(path.Join(folder, f.name), 0o644, text); err != nil {
			return "", nil, err
		}
	}
	for _, f := range printed {
		if err := add(path.Join(folder, f.name), 0o644, f.text); err != nil {
			return "", nil, err
		}
	}
	if err := end(); err != nil {
		return "", nil, err
	}
	return name, b.Bytes(), nil
}

type adder func(name string, mode int64, text []byte) error

func tarball(out io.Writer, at time.Time) (adder, func() error) {
	g := gzip.NewWriter(out)
	w := tar.NewWriter(g)
	return func(name string, mode int64, text []byte) error {
			if err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(text)), ModTime: at, Format: tar.FormatPAX}); err != nil {
				return err
			}
			_, err := w.Write(text)
			return err
		}, func() error {
			if err := w.Close(); err != nil {
				return err
			}
			return g.Close()
		}
}

func zipped(out io.Writer, at time.Time) (adder, func() error) {
	w := zip.NewWriter(out)
	return func(name string, mode int64, text []byte) error {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at}
		h.SetMode(os.FileMode(mode))
		f, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		return err
	}, func() error { return w.Close() }
}
