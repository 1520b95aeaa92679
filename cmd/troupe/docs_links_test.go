package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	inlineLink = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	heading    = regexp.MustCompile(`^#{1,6} +(.+?) *#*$`)
	notInSlug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// page contains the anchors and the links of one document.
type page struct {
	anchors map[string]bool
	links   []string
}

// readPage parses a document. Anchors are those that code hosting sites generate from headings.
func readPage(text string) page {
	p := page{anchors: map[string]bool{}}
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if fence.MatchString(line) {
			fenced = !fenced
		}
		if fenced {
			continue
		}
		if h := heading.FindStringSubmatch(line); h != nil {
			p.anchors[strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
		}
		for _, link := range inlineLink.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, ""), -1) {
			p.links = append(p.links, link[1]+link[2])
		}
	}
	return p
}

// Every link between documents has a target, and every document can be reached from the README.
func TestDocumentedLinks(t *testing.T) {
	pages := map[string]page{}
	const template = "bench/result/page/performance.md" // template of docs/performance.md
	for _, file := range append(markdown(t), template) {
		text, err := os.ReadFile(filepath.Join(repository, file))
		if err != nil {
			t.Fatal(err)
		}
		pages[file] = readPage(string(text))
	}
	reached, next := map[string]bool{"README.md": true}, []string{"README.md"}
	for len(next) > 0 {
		file := next[0]
		next = next[1:]
		for _, link := range pages[file].links {
			target, _, _ := strings.Cut(link, "#")
			target = path.Join(path.Dir(file), target)
			if _, ok := pages[target]; ok && !reached[target] {
				reached[target] = true
				next = append(next, target)
			}
		}
	}
	for file, p := range pages {
		if !reached[file] && file != template && !strings.HasPrefix(file, "docs/spec/") {
			t.Errorf("%s: no links lead to it from the README", file)
		}
		for _, link := range p.links {
			if err := follows(pages, file, link); err != "" {
				t.Errorf("%s: (%s) %s", file, link, err)
			}
		}
	}
}

// The README is for readers who are new to the project. Details belong in docs.
func TestTheReadmeIsShort(t *testing.T) {
	const linesMax = 149
	text, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(text), "\n"); lines > linesMax {
		t.Errorf("README.md has %d lines, at most %d: the rest belongs in docs", lines, linesMax)
	}
}

// follows returns the problem with a link, or "". It does not check links to other sites.
func follows(pages map[string]page, file, link string) string {
	if strings.Contains(link, "://") {
		return ""
	}
	target, anchor, _ := strings.Cut(link, "#")
	if target == "" {
		target = file
	} else {
		target = path.Join(path.Dir(file), target)
	}
	if _, err := os.Stat(filepath.Join(repository, target)); err != nil {
		return "there is no such file"
	}
	if p, ok := pages[target]; ok && anchor != "" && !p.anchors[anchor] {
		return "there is no such heading"
	}
	return ""
}

func TestLinksOfADocument(t *testing.T) {
	p := readPage("# A: `b`, and c\n[x](#a-b-and-c) `[no](x)` ![y](docs/z.svg)\n```\n# no\n[no](x)\n```\n<img src=\"w.svg\">\n")
	if got := strings.Join(p.links, " "); got != "#a-b-and-c docs/z.svg w.svg" {
		t.Errorf("links %q", got)
	}
	pages := map[string]page{"README.md": p}
	for link, want := range map[string]bool{
		"#a-b-and-c": true, "#no": false, "go.mod": true, "go.mods": false, "https://example.com/#x": true, "README.md#a-b-and-c": true,
	} {
		if got := follows(pages, "README.md", link); (got == "") != want {
			t.Errorf("%s: %q", link, got)
		}
	}
}
