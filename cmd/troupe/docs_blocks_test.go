package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// repository is the path from this package to the root of the repository.
const repository = "../.."

// block is a code block of a document.
type block struct {
	file string
	line int    // number of its first line
	lang string // language after the fence; "" for commands and for indented blocks
	text string
}

func (b *block) String() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

// documents returns the documents whose blocks are run: those in the root and in docs. It excludes the changelog, which
// contains removed commands and keys, and the specification, which shows raw bytes, requests and settings that are not
// implemented yet.
func documents(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(markdown(t), func(file string) bool {
		return file == "CHANGELOG.md" || strings.HasPrefix(file, "docs/spec/")
	})
}

// markdown returns the slash-separated paths of all documents in the root and in docs.
func markdown(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(repository, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(repository, "docs"), func(path string, _ os.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			all = append(all, path)
		}
		return err
	})
	if err != nil || len(all) < 8 {
		t.Fatalf("only %v: %v", all, err)
	}
	for i := range all {
		all[i], _ = filepath.Rel(repository, all[i])
		all[i] = filepath.ToSlash(all[i])
	}
	return all
}

// blocks returns the code blocks of all documents.
func blocks(t *testing.T) (all []*block) {
	t.Helper()
	for _, file := range documents(t) {
		text, err := os.ReadFile(filepath.Join(repository, file))
		if err != nil {
			t.Fatal(err)
		}
		found, err := extract(file, string(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

var (
	fence    = regexp.MustCompile("^( *)(```+|~~~+) *([a-zA-Z]*) *$")
	listItem = regexp.MustCompile(`^ {0,3}([-*+]|[0-9]+[.)]) `)
)

// extract returns the code blocks of a document: fenced blocks, and blocks that are indented by four spaces outside a
// list, where they would be paragraphs.
func extract(file, text string) (all []*block, err error) {
	var open *block
	var close, indent string
	inList, blank := false, true
	for i, line := range strings.Split(text, "\n") {
		mark := fence.FindStringSubmatch(line)
		code, indented := strings.CutPrefix(line, "    ")
		switch {
		case close != "" && mark != nil && strings.HasPrefix(mark[2], close) && mark[3] == "":
			open, close = nil, ""
		case close != "":
			open.text += strings.TrimPrefix(line, indent) + "\n"
		case mark != nil:
			indent, close = mark[1], mark[2]
			open = &block{file: file, line: i + 2, lang: mark[3]}
			all = append(all, open)
		case strings.TrimSpace(line) == "":
			if open != nil {
				open.text += "\n"
			}
			blank = true
			continue
		case indented && open != nil:
			open.text += code + "\n"
		case indented && blank && !inList:
			open = &block{file: file, line: i + 1, text: code + "\n"}
			all = append(all, open)
		default:
			open = nil
			inList = listItem.MatchString(line) || inList && strings.HasPrefix(line, " ")
		}
		blank = false
	}
	if close != "" {
		err = fmt.Errorf("%s: a block has no end", file)
	}
	return all, err
}

var comment = regexp.MustCompile(`(^|\s\s+)#\s.*$`)

// commands returns the command lines that a reader would type, without comments.
func (b *block) commands() (all []string) {
	begun := ""
	for line := range strings.Lines(b.text) {
		line = begun + strings.Join(strings.Fields(comment.ReplaceAllString(strings.TrimSpace(line), "")), " ")
		if head, more := strings.CutSuffix(line, "\\"); more {
			begun = head
			continue
		}
		begun = ""
		if line != "" {
			all = append(all, line)
		}
	}
	return all
}

func TestBlocksOfADocument(t *testing.T) {
	const text = "# A\n\n    make run     # one\n    aws a \\\n        b\n\n    make 'x # y'\n\ntext\n    no block\n\n- item\n\n    more of it\n\n" +
		"```yaml\na: [ 1,\n  2 ]\n```\n\n1. item\n   ```js\n   let a;\n     b;\n   ```\ntext\n\n~~~\n```\n~~~\n"
	found, err := extract("f.md", text)
	var got []string
	for _, b := range found {
		got = append(got, fmt.Sprintf("%d %s %q", b.line, b.lang, b.text))
	}
	want := []string{
		`3  "make run     # one\naws a \\\n    b\n\nmake 'x # y'\n\n"`, `17 yaml "a: [ 1,\n  2 ]\n"`, `23 js "let a;\n  b;\n"`, "29  \"```\\n\"",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s\n%v", got, want, err)
	}
	if got := found[0].commands(); !slices.Equal(got, []string{"make run", "aws a b", "make 'x # y'"}) {
		t.Errorf("commands %q", got)
	}
	if _, err := extract("f.md", "```\nx\n"); err == nil {
		t.Error("a block without an end is one")
	}
}
