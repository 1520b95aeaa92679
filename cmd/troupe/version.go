package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// release is the version of this source tree. The first section of CHANGELOG.md has the same version.
const release = "0.1.0"

type versionCommand struct{}

func (versionCommand) Run(s streams) error {
	b := readBuild()
	changes := ""
	if b.changed {
		changes = " with changes"
	}
	fmt.Fprintf(s.out, "troupe %s\ncommit %s%s\n%s %s/%s\n", release, b.commit, changes, b.goVersion, runtime.GOOS, runtime.GOARCH)
	return nil
}

// versionFlag is --version, which does the same as troupe version.
type versionFlag bool

// BeforeReset implements a hook of kong. It runs before kong reports a missing command.
func (versionFlag) BeforeReset(app *kong.Kong, s streams) error {
	err := versionCommand{}.Run(s)
	app.Exit(0)
	return err
}

// build is the build information of the binary.
type build struct {
	commit, goVersion string
	changed           bool // the working tree had uncommitted changes
}

const unknown = "unknown"

// version returns the version that a host reports: the release and, if known, the commit, such as 0.1.0+1391ce8653c6.
func (b build) version() string {
	v := release
	if b.commit != unknown {
		v += "+" + b.commit[:min(len(b.commit), 12)]
	}
	if b.changed {
		v += ".changed"
	}
	return v
}

// readBuild returns the build information. The commit is unknown for a build outside a repository.
func readBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{commit: unknown, goVersion: runtime.Version()}
	}
	return describeBuild(info)
}

func describeBuild(info *debug.BuildInfo) build {
	b := build{commit: unknown, goVersion: info.GoVersion}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && s.Value != "":
			b.commit = s.Value
		case s.Key == "vcs.modified":
			b.changed = s.Value == "true"
		}
	}
	return b
}
