package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

type versionCommand struct{}

// Run prints the version, the commit and the Go version.
func (versionCommand) Run(s streams) error {
	b := readBuild()
	fmt.Fprintf(s.out, "troupe %s\ncommit %s\n%s %s/%s\n", b.version, b.commit, b.goVersion, runtime.GOOS, runtime.GOARCH)
	return nil
}

// versionFlag is --version, which does what troupe version does.
type versionFlag bool

// BeforeReset implements a hook of kong. It runs before commands are missed.
func (versionFlag) BeforeReset(app *kong.Kong, s streams) error {
	err := versionCommand{}.Run(s)
	app.Exit(0)
	return err
}

// build is the build information of the binary.
type build struct{ version, commit, goVersion string }

const unknown = "unknown"

// readBuild reads the build information. Fields that a build without a repository lacks
// are unknown.
func readBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{unknown, unknown, runtime.Version()}
	}
	return describeBuild(info)
}

func describeBuild(info *debug.BuildInfo) build {
	b := build{version: info.Main.Version, commit: unknown, goVersion: info.GoVersion}
	if b.version == "" || b.version == "(devel)" {
		b.version = unknown
	}
	changed := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && s.Value != "":
			b.commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = " with changes"
		}
	}
	if b.commit != unknown {
		b.commit += changed
	}
	return b
}
