package result

import (
	"bufio"
	"debug/buildinfo"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// Machine describes the machine and the program that produced a result.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`     // Go version of the benchmark command
	Commit string `json:"commit"` // commit of the benchmark command
}

// ThisMachine describes this machine. Values that cannot be determined are "unknown".
func ThisMachine() Machine {
	m := Machine{CPU: "unknown", Cores: runtime.NumCPU(), Kernel: "unknown", Go: runtime.Version(), Commit: "unknown"}
	if model := cpuModel("/proc/cpuinfo"); model != "" {
		m.CPU = model
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = runtime.GOOS + " " + strings.TrimSpace(string(b))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		m.Commit = commitOf(info)
	}
	return m
}

// String formats the machine line of a report.
func (m Machine) String() string {
	return fmt.Sprintf("machine: %s, %d cores, %s, %s, commit %s", m.CPU, m.Cores, m.Kernel, m.Go, m.Commit)
}

// BuildOf returns the commit and the Go version of a server binary.
func BuildOf(bin string) (string, error) {
	info, err := buildinfo.ReadFile(bin)
	if err != nil {
		return "", fmt.Errorf("read build of the server: %w", err)
	}
	return commitOf(info) + ", " + info.GoVersion, nil
}

// commitOf returns the revision that go build embeds. Binaries of go run and go test have none.
func commitOf(info *debug.BuildInfo) string {
	commit, changed := "unknown", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				changed = "+changes"
			}
		}
	}
	return commit + changed
}

func cpuModel(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
