package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Bundle contains the files of one version of a script. It is immutable.
type Bundle struct {
	// Files by path. Paths are relative and clean, and use slashes.
	Files map[string][]byte
	// Version identifies the version in records and logs.
	Version     string
	NodeVersion string // "10.x" or "24.x"; an unhandled rejection ends the process only with 24.x (realtime.md 18.3)
	// Local means that the files come from the machine that the host runs on (FromPath). They belong to the
	// operator and were not uploaded.
	Local bool
}

// Root is the directory of a script's files in the original (realtime.md 15.1).
const Root = "/local/game"

const packageFile = "package.json" // describes the package, as in npm

// extensions are the file extensions that an entry can have.
var extensions = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"}

// declarations are the extensions of TypeScript declaration files, which cannot run.
var declarations = []string{".d.ts", ".d.mts", ".d.cts"}

func isScript(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains(extensions, path.Ext(name)) && !slices.ContainsFunc(declarations, func(d string) bool { return strings.HasSuffix(name, d) })
}

// Entry returns the file that a fleet's launch path names. The path begins with Root or is relative to it. If
// it is empty or Root itself, the entry is the first of these: main in package.json, the only script in the
// root directory, index.js, main.js. The error lists the scripts that exist.
func (b *Bundle) Entry(launchPath string) (string, error) {
	name := path.Clean(strings.ReplaceAll(launchPath, `\`, "/"))
	if name = strings.TrimPrefix(name, Root+"/"); name == "." || name == Root {
		return b.defaultEntry()
	}
	if _, ok := b.Files[name]; ok {
		return name, nil
	}
	return "", fmt.Errorf("launch path %s: the script has no such file; it has %s", launchPath, b.candidates())
}

func (b *Bundle) defaultEntry() (string, error) {
	p, err := b.describe()
	if err != nil {
		return "", err
	}
	if p.Main != "" {
		for _, name := range []string{p.Main, p.Main + ".js", path.Join(p.Main, "index.js")} {
			if _, ok := b.Files[path.Clean(name)]; ok {
				return path.Clean(name), nil
			}
		}
		return "", fmt.Errorf("main of %s is %q: the script has no such file; it has %s", packageFile, p.Main, b.candidates())
	}
	top := slices.DeleteFunc(b.scripts(), func(s string) bool { return strings.Contains(s, "/") })
	if len(top) == 1 {
		return top[0], nil
	}
	for _, name := range []string{"index.js", "main.js"} {
		if slices.Contains(top, name) {
			return name, nil
		}
	}
	return "", fmt.Errorf("it is not clear which file to start: name it as main in %s, or as the launch path (troupe dev --main); the script has %s", packageFile, b.candidates())
}

// scripts lists the files that can be an entry, without node_modules and hidden files, sorted by depth and
// name.
func (b *Bundle) scripts() []string {
	names := slices.DeleteFunc(slices.Collect(maps.Keys(b.Files)), func(s string) bool {
		return !isScript(s) || strings.HasPrefix(path.Base(s), ".") || strings.HasPrefix(s, "node_modules/") || strings.Contains(s, "/node_modules/")
	})
	slices.SortFunc(names, func(x, y string) int {
		return cmp.Or(strings.Count(x, "/")-strings.Count(y, "/"), strings.Compare(x, y))
	})
	return names
}

const candidatesMax = 8

func (b *Bundle) candidates() string {
	names := b.scripts()
	switch n := len(names); {
	case n == 0:
		return "no scripts outside of node_modules"
	case n > candidatesMax:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:candidatesMax], ", "), n-candidatesMax)
	}
	return strings.Join(names, ", ")
}

// The names of the engines.
const (
	EngineEmbedded = "embedded"
	EngineNode     = "node"
)

// Engine returns the engine that package.json requests with {"troupe": {"engine": "node"}}: EngineEmbedded,
// EngineNode, or "" if it requests none.
func (b *Bundle) Engine() (string, error) {
	p, err := b.describe()
	if err != nil {
		return "", err
	}
	switch e := p.Troupe.Engine; e {
	case "", EngineEmbedded, EngineNode:
		return e, nil
	default:
		return "", fmt.Errorf("troupe.engine of %s is %q: it must be %s or %s", packageFile, e, EngineEmbedded, EngineNode)
	}
}

// GamesPerProcessMax is the maximum of GamesPerProcess.
const GamesPerProcessMax = 1000

// GamesPerProcess returns how many game sessions share a process of Node.js: what package.json requests with
// {"troupe": {"engine": "node", "gamesPerProcess": 50}}, or 1.
func (b *Bundle) GamesPerProcess() (int, error) {
	p, err := b.describe()
	if err != nil {
		return 0, err
	}
	n := p.Troupe.GamesPerProcess
	if n < 0 || n > GamesPerProcessMax {
		return 0, fmt.Errorf("troupe.gamesPerProcess of %s is %d: it must be 1 to %d", packageFile, n, GamesPerProcessMax)
	}
	return max(n, 1), nil
}

// description contains the relevant fields of a package.json.
type description struct {
	Main   string `json:"main"`
	Troupe struct {
		Engine          string `json:"engine"`
		GamesPerProcess int    `json:"gamesPerProcess"`
	} `json:"troupe"`
}

func (b *Bundle) describe() (p description, err error) {
	text, ok := b.Files[packageFile]
	if !ok {
		return p, nil
	}
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), &p); err != nil {
		return p, fmt.Errorf("%s: %w", packageFile, err)
	}
	return p, nil
}
