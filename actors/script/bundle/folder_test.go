package bundle_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/actors/script/bundle"
)

// tree creates files. A name that ends with / is a directory, and link=target is a symbolic link.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, n := range names {
		link, target, isLink := strings.Cut(n, "=")
		at := filepath.Join(root, link)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case isLink:
			err = os.Symlink(target, at)
		case strings.HasSuffix(n, "/"):
			err = os.MkdirAll(at, 0o755)
		default:
			err = os.WriteFile(at, []byte("of "+n), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestAFolderBecomesItsFiles(t *testing.T) {
	outside := tree(t, "secret.js", "lib/x.js")
	root := tree(t, "main.js", "lib/a.js", ".git/hooks/x.js", ".env", "empty/",
		"alias.js=main.js", "out.js="+filepath.Join(outside, "secret.js"), "gone.js=nowhere.js",
		"round=.", "lib/up=..", "up.js=../main.js",
		".pnpm/p/index.js", "node_modules/p=../.pnpm/p", "node_modules/q="+outside)
	for _, path := range []string{root, filepath.Join(root, "main.js")} {
		b, err := bundle.FromPath(path, bundle.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := paths(b); got != "alias.js lib/a.js main.js node_modules/p/index.js" {
			t.Error(got)
		}
		if s := string(b.Files["alias.js"]); s != "of main.js" {
			t.Error(s)
		}
	}
}

func TestAZipFileIsUnpacked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "script.ZIP")
	if err := os.WriteFile(path, pack(t, item{Name: "main.js", Text: "x"}), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := bundle.FromPath(path, bundle.Limits{})
	if err != nil || paths(b) != "main.js" {
		t.Error(b, err)
	}
	if err := os.Truncate(path, bundle.ZipMax+1); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.FromPath(path, bundle.Limits{}); err == nil || !strings.Contains(err.Error(), "has 5000001 bytes; at most 5000000") {
		t.Error(err)
	}
}

func TestAPathIsRefused(t *testing.T) {
	root := tree(t, "a/main.js", "a/large", "b/readme.txt", "a/one/x", "odd/main.js", `odd/back\slash.js`)
	for path, want := range map[string]string{
		"nowhere":      "no such file",
		"b":            "no script",
		"b/readme.txt": "is no script",
		"a/main.js":    "a folder of its own",
		"odd":          "backslash",
	} {
		l := bundle.Limits{}
		if path == "a/main.js" {
			l.UnpackedMax = 12
		}
		b, err := bundle.FromPath(filepath.Join(root, path), l)
		if err == nil || b != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := bundle.FromPath(filepath.Join(root, "a"), bundle.Limits{UnpackedMax: 12}); err == nil || !strings.Contains(err.Error(), "larger than 12") {
		t.Error(err)
	}
}
