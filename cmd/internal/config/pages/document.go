package pages

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"troupe/transport/host"
)

const introduction = `# Configuration

All keys of a host's configuration, with their meaning and default. ` + "`go run ./cmd/internal/configdoc`" + ` writes this page from
the comments of ` + "`transport/host/config.go`" + `.

Each key can be set in a YAML file (` + "`troupe serve --config troupe.yaml`" + `), by the environment (` + "`TROUPE_RECONNECT_WINDOW=60s`" + `) and by
a flag (` + "`--set reconnect.window=60s`" + `). The environment overrides the file, and flags override both. In the environment and in flags
a list is JSON: ` + "`TROUPE_FLEETS='[{\"id\": \"fleet-arena\", \"gameSessionsMax\": 500}]'`" + `. A list replaces the default list as a whole.

    troupe config check troupe.yaml             # what troupe serve would refuse, without starting it
    troupe config print --config troupe.yaml    # every value in force, and where it comes from
    troupe config schema > troupe.schema.json   # JSON Schema: editors complete and check keys with it

Durations are numbers with units, like ` + "`1m30s`" + ` or ` + "`250ms`" + `. Sizes are bytes. Defaults are those of ` + "`troupe serve`" + `; ` + "`troupe dev`" + `
keeps records in memory, accepts every caller, shows the logs of scripts, and ends game sessions of earlier versions of a script.

A key is **common** if most hosts set it, or expert: its default suits nearly all of them, so measure before you change it.

## Reload

SIGHUP makes a running ` + "`troupe serve`" + ` read its file again. These keys take effect at once; a line in the log names the others that
have changed, which need a restart: %s. Files that the configuration names (` + "`secretFile`" + `, certificates)
are read again, too. If the new configuration has a mistake, the log says so, and the old one stays in force.
Windows has no SIGHUP. Certificates are checked for changes every ` + "`tls.reloadEvery`" + ` in any case.
`

// document returns the page that lists all keys.
func (n *node) document() []byte {
	var b bytes.Buffer
	reloaded := host.Reloadable()
	for i, key := range reloaded {
		reloaded[i] = "`" + key + "`"
	}
	fmt.Fprintf(&b, introduction, strings.Join(reloaded, ", "))
	settings := slices.DeleteFunc(slices.Clone(n.children), func(c *node) bool { return c.children != nil })
	b.WriteString("\n## Keys without a section\n\n")
	table(&b, settings)
	for _, c := range n.children {
		if c.children != nil {
			c.section(&b)
		}
	}
	return b.Bytes()
}

func (n *node) section(b *bytes.Buffer) {
	key := n.key
	if n.list {
		key += "[]"
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n", key, escape(n.text))
	if n.list && n.fallback != nil && reflect.ValueOf(n.fallback).Len() > 0 {
		text, _ := json.Marshal(plain(reflect.ValueOf(n.fallback))) // cannot fail: it contains only strings and numbers
		fmt.Fprintf(b, "\nDefault: `%s`\n", text)
	}
	b.WriteByte('\n')
	table(b, n.children)
	for _, c := range n.children {
		if c.children != nil {
			c.section(b)
		}
	}
}

func table(b *bytes.Buffer, all []*node) {
	b.WriteString("| Key | Level | Type | Default | Meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, n := range all {
		kind, text := n.kind, n.text
		switch {
		case n.children != nil && n.list:
			kind, text = "list", "see [below](#"+anchor(n.key)+")"
		case n.children != nil:
			kind, text = "section", "see [below](#"+anchor(n.key)+")"
		case n.list:
			kind = "list of " + n.kind
		case n.values != nil:
			kind = "`" + strings.Join(slices.DeleteFunc(slices.Clone(n.values), func(v string) bool { return v == "" }), "`, `") + "`"
		}
		level := "expert"
		if n.common {
			level = "**common**"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", n.key, level, kind, n.defaultText(), escape(text))
	}
}

// anchor returns the anchor that Markdown renderers generate for a heading.
func anchor(key string) string {
	return strings.ToLower(strings.NewReplacer(".", "", "[", "", "]", "").Replace(key))
}

func (n *node) defaultText() string {
	if n.fallback == nil || n.children != nil {
		return ""
	}
	v := reflect.ValueOf(n.fallback)
	switch {
	case n.list && v.Len() == 0:
		return "none"
	case n.kind == text && v.String() == "":
		return ""
	case n.kind == whole:
		return "`" + strconv.FormatInt(v.Int(), 10) + "`" + n.size(v.Int())
	}
	return fmt.Sprintf("`%v`", plain(v))
}

// size formats a number of bytes in a larger unit, for settings that are numbers of bytes.
func (n *node) size(bytes int64) string {
	if !strings.Contains(n.text, "bytes") {
		return ""
	}
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if bytes >= unit.bytes && bytes%unit.bytes == 0 {
			return fmt.Sprintf(" (%d %s)", bytes/unit.bytes, unit.name)
		}
	}
	return ""
}

func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(text)
}
