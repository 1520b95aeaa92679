package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type manCommand struct{}

// Run prints the manual page.
func (manCommand) Run(k *kong.Context, s streams) error {
	_, err := s.out.Write(manual(k.Model))
	return err
}

// commonFrom is the number of commands from which on a flag of theirs is described once.
const commonFrom = 5

// manual is the manual page, for man: the same texts as --help, which are escaped, because a line that begins with a dot would be a command.
func manual(app *kong.Application) []byte {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	entry := func(name, text string) { line(".TP\n%s\n%s", name, roff(text)) }

	line(`.\" Made by troupe man.`)
	version := ""
	if v := readBuild().version; v != unknown {
		version = " " + v
	}
	line(`.TH TROUPE 1 "" "troupe%s" "User Commands"`, roff(version))
	line(".SH NAME\ntroupe \\- a self\\-hosted game host, compatible with Amazon GameLift Realtime")
	line(".SH SYNOPSIS\n.B troupe\n.I command\n.RI [ flags ]")
	line(".SH DESCRIPTION\n%s", roff("troupe hosts multiplayer game sessions: one binary that needs no other service. troupe dev runs a host for development, "+
		"troupe serve one for production; the other commands are tools for them. Each command has a --help."))

	leaves := app.Leaves(true)
	times := map[string]int{}
	for _, leaf := range leaves {
		for _, f := range leaf.Flags {
			times[f.Name+f.Help]++
		}
	}
	common := map[string]*kong.Flag{}
	line(".SH COMMANDS")
	for _, leaf := range leaves {
		line(".SS %s", roff(leaf.FullPath()))
		line(".nf\n%s\n.fi\n.PP\n%s", roff("troupe "+leaf.Summary()), roff(leaf.Help))
		for _, p := range leaf.Positional {
			entry(`\fI`+roff(p.Name)+`\fR`, p.Help)
		}
		var names []string
		for _, f := range leaf.Flags {
			switch {
			case f.Hidden:
			case times[f.Name+f.Help] >= commonFrom:
				names = append(names, "--"+f.Name)
				common[f.Name+f.Help] = f
			default:
				entry(flagName(f), kong.DefaultHelpValueFormatter(f.Value))
			}
		}
		if len(names) > 0 {
			line(".PP\n%s", roff("Common flags: "+strings.Join(names, ", ")+"."))
		}
		detail(line, leaf.Detail)
	}
	line(".SH COMMON FLAGS")
	for _, key := range sortedKeys(common) {
		entry(flagName(common[key]), kong.DefaultHelpValueFormatter(common[key].Value))
	}
	line(".SH EXIT STATUS")
	for _, e := range []struct {
		code int
		text string
	}{{0, "the command did what it was asked"}, {exitFailure, "it failed, or the host refused"},
		{exitUsage, "the command line is wrong, or a benchmark or fault run had nothing to measure"}, {exitVoid, "the figures of a benchmark prove nothing"}} {
		entry(fmt.Sprint(e.code), e.text)
	}
	line(".SH ENVIRONMENT")
	entry("TROUPE_SECTION_KEY", "A key of the configuration, such as TROUPE_RECONNECT_WINDOW for reconnect.window. It overrides the file; flags override it.")
	entry("AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_CA_BUNDLE", "The host that commands call, and who calls it, as with AWS's own tools.")
	line(".SH SEE ALSO\n%s", roff("The documents in docs of the source, and troupe config schema for the keys of the configuration."))
	return b.Bytes()
}

// detail writes the further text of a command; indented lines are examples.
func detail(line func(string, ...any), text string) {
	example := false
	for part := range strings.Lines(text) {
		part = strings.TrimRight(part, "\n")
		inner, indented := strings.CutPrefix(part, "    ")
		switch {
		case indented && !example:
			example = true
			line(".PP\n.RS 4\n.nf")
		case !indented && example && part != "":
			example = false
			line(".fi\n.RE")
		}
		switch {
		case indented:
			line("%s", roff(inner))
		case part != "":
			line(".PP\n%s", roff(part))
		}
	}
	if example {
		line(".fi\n.RE")
	}
}

func flagName(f *kong.Flag) string {
	name := `\fB` + roff("--"+f.Name) + `\fR`
	if f.Short != 0 {
		name = `\fB` + roff("-"+string(f.Short)) + `\fR, ` + name
	}
	if !f.IsBool() && !f.IsCounter() {
		name += `=\fI` + roff(strings.Trim(f.FormatPlaceHolder(), `"`)) + `\fR`
	}
	return name
}

// roff escapes text.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\t", " ").Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
