package archtest

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// specDir is the folder of the specification. Its README describes how to cite it.
const specDir = "docs/spec/"

// page is a file of the module that may cite the specification.
type page struct {
	file string // path from the module's root, with slashes
	text string
}

// test reports whether a citation in the page counts as a test of the cited id.
func (p *page) test() bool {
	return strings.HasSuffix(p.file, "_test.go") || isTest(path.Dir(p.file))
}

var (
	cited      = regexp.MustCompile(`\b(RT|API|RL|FM|SS|CL|D)-([1-9][0-9]*)\b`)
	defined    = regexp.MustCompile(`^(?:\| |- \*\*)((RT|API|RL|FM|SS|CL|D)-[1-9][0-9]*)(?: \||\*\*)`)
	heading    = regexp.MustCompile(`^#+ (\d+(?:\.\d+)*)\.? `)
	sections   = regexp.MustCompile(`\b(realtime|service-api|reliability|flexmatch|server-sdk|cluster|decisions)\.md\)? ((?:\d+(?:\.\d+)*(?:,? and |,? to |, )?)+)`)
	number     = regexp.MustCompile(`\d+(?:\.\d+)*`)
	outOfDate  = regexp.MustCompile(`\bTest(API)?Check\d|\bDESIGN(\.md)? \d|\b[Cc]hecks? \d+\b|\((?:[a-z-]+\.md )?[DRF]\d{1,2}[,)]|\b(?:realtime|service-api|reliability)\.md [DRF]\d`)
	noTest     = regexp.MustCompile(`No test: \w{2,}`)
	ranges     = regexp.MustCompile(`\b([A-Z]+)-\d+ to [A-Z]+-(\d+)`)
	overview   = regexp.MustCompile(`^(?:Checks|Invariants): |^\| \[`) // a line that only lists the ids in a text
	planned    = "Status: planned"
	plannedTop = 10 // planned must be within this number of lines from the top of a text
)

// definition is the place that defines an id of the specification.
type definition struct {
	page *page
	line int
	text string
}

// findSpec checks the citations in pages against the pages of the specification.
func findSpec(pages []*page) (found []violation) {
	defs := make(map[string]definition)
	known := make(map[string]bool) // "realtime 18.4"
	later := make(map[*page]bool)
	each := func(p *page, visit func(line int, text string)) {
		for i, text := range strings.Split(p.text, "\n") {
			visit(i+1, text)
		}
	}
	for _, p := range pages {
		if !strings.HasPrefix(p.file, specDir) {
			continue
		}
		name := strings.TrimSuffix(path.Base(p.file), ".md")
		each(p, func(line int, text string) {
			if m := heading.FindStringSubmatch(text); m != nil {
				known[name+" "+m[1]] = true
			}
			if line <= plannedTop && strings.HasPrefix(text, planned) {
				later[p] = true
			}
			if m := defined.FindStringSubmatch(text); m != nil {
				if first, again := defs[m[1]]; again {
					found = append(found, violation{p.file, line, fmt.Sprintf("%s is defined a second time, after %s:%d", m[1], first.page.file, first.line)})
					return
				}
				defs[m[1]] = definition{p, line, text}
			}
		})
	}
	tested := make(map[string]bool)
	for _, p := range pages {
		each(p, func(line int, text string) {
			if !mayCite(text) {
				return
			}
			for _, id := range cited.FindAllString(text, -1) {
				if _, ok := defs[id]; !ok {
					found = append(found, violation{p.file, line, id + " is not defined in " + specDir})
				}
				if p.test() {
					tested[id] = true
				}
			}
			for _, m := range sections.FindAllStringSubmatch(text, -1) {
				for _, n := range number.FindAllString(m[2], -1) {
					if !known[m[1]+" "+n] {
						found = append(found, violation{p.file, line, fmt.Sprintf("%s.md has no section %s", m[1], n)})
					}
				}
			}
			if strings.HasPrefix(p.file, specDir) && overview.MatchString(text) {
				for _, m := range ranges.FindAllStringSubmatch(text, -1) {
					last, _ := strconv.Atoi(m[2])
					if next := fmt.Sprintf("%s-%d", m[1], last+1); defs[next].page != nil {
						found = append(found, violation{p.file, line, fmt.Sprintf("%s: there is %s, too", m[0], next)})
					}
				}
			}
			if old := outOfDate.FindString(text); old != "" && !strings.HasPrefix(p.file, specDir) {
				found = append(found, violation{p.file, line, old + ": cite the specification by its ids, as " + specDir + "README.md says"})
			}
		})
	}
	for _, id := range slices.SortedFunc(maps.Keys(defs), byID) {
		d := defs[id]
		excused := noTest.MatchString(d.text)
		switch {
		case strings.HasPrefix(id, "D-") || later[d.page]:
		case !tested[id] && !excused:
			found = append(found, violation{d.page.file, d.line, "no test cites " + id + ", and its line has no reason (No test: ...)"})
		case tested[id] && excused:
			found = append(found, violation{d.page.file, d.line, "a test cites " + id + ", whose line says that there is none"})
		}
	}
	return found
}

// mayCite reports whether a line may contain a citation. It is a cheap filter: matching regular expressions on all
// lines is slow and takes seconds under the race detector.
func mayCite(text string) bool {
	if !strings.ContainsAny(text, "0123456789") {
		return false
	}
	for _, part := range []string{"RT-", "API-", "RL-", "FM-", "SS-", "CL-", "D-", ".md", "heck", "DESIGN", "(D", "(R", "(F"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// byID orders RL-9 before RL-10.
func byID(a, b string) int {
	as, an, _ := strings.Cut(a, "-")
	bs, bn, _ := strings.Cut(b, "-")
	if as != bs {
		return strings.Compare(as, bs)
	}
	x, _ := strconv.Atoi(an)
	y, _ := strconv.Atoi(bn)
	return x - y
}

// loadPages reads the text files of the module, except generated files and test data.
func loadPages(t *testing.T) (all []*page) {
	t.Helper()
	root := "../../.."
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != root && (base == "testdata" || base == "node_modules" || base == "bin" || strings.HasPrefix(base, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		switch path.Ext(base) {
		case ".go", ".md", ".js", ".ts", ".proto", ".sh", ".yaml", ".yml":
		default:
			if base != "Makefile" {
				return nil
			}
		}
		if base == "spec_test.go" { // contains wrong citations on purpose
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		all = append(all, &page{filepath.ToSlash(rel), string(text)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Every cited id and section exists exactly once, and every check has a test or a line that says why it has none.
// Otherwise nobody could rely on the specification.
func TestSpecification(t *testing.T) {
	pages := loadPages(t)
	found := findSpec(pages)
	for _, v := range found {
		t.Error(v)
	}
	count := 0
	for _, p := range pages {
		if !strings.HasPrefix(p.file, specDir) {
			count += len(cited.FindAllString(p.text, -1))
		}
	}
	if count < 300 { // a walk that finds nothing would make the test pass
		t.Errorf("only %d citations found in %d files", count, len(pages))
	}
}

func TestTheSpecificationsRulesCanFail(t *testing.T) {
	spec := &page{specDir + "realtime.md", "# R\n\n## 1. One\n### 1.2 Two\n- **RT-1** so it is\n- **RT-2** and so. *No test: it is the weather.*\n| RL-3 | a row |\n| D-4 | decided | why |\n"}
	tests := &page{"actors/x/a_test.go", "// RT-1, RL-3, realtime.md 1.2 and 1.\n"}
	soon := &page{specDir + "cluster.md", "# C\n\nStatus: planned. Not built.\n\n- **CL-1** one day\n"}
	right := []*page{spec, tests, soon, {"README.md", "D-4 decides; see RT-2 and realtime.md 1.2, and more"}}
	if found := findSpec(right); len(found) != 0 {
		t.Fatalf("it fails for what is right: %v", found)
	}
	code := func(text string) *page { return &page{"actors/x/a.go", text} }
	for name, c := range map[string]struct {
		pages []*page
		says  string
	}{
		"an id that is not there":        {append(slices.Clone(right), code("// RT-9 says so")), "RT-9 is not defined"},
		"a section that is not there":    {append(slices.Clone(right), code("// realtime.md 1, 1.2 and 1.3")), "realtime.md has no section 1.3"},
		"an id that is there twice":      {append(slices.Clone(right), &page{specDir + "b.md", "| RT-1 | again |"}), "RT-1 is defined a second time"},
		"a check without a test":         {[]*page{spec, soon}, "no test cites RT-1"},
		"a citation outside of a test":   {[]*page{spec, soon, code("// RT-1, RL-3")}, "no test cites RL-3"},
		"a reason that is out of date":   {append(slices.Clone(right), &page{"actors/x/b_test.go", "// RT-2"}), "a test cites RT-2, whose line"},
		"a plan that has begun":          {[]*page{spec, tests, {soon.file, strings.ReplaceAll(soon.text, planned, "Status: half")}}, "no test cites CL-1"},
		"a number of before":             {append(slices.Clone(right), code("// held until accepted (D21)")), "(D21): cite the specification"},
		"a test that is named by number": {append(slices.Clone(right), &page{"actors/x/b_test.go", "func TestCheck12_A("}), "TestCheck1: cite"},
	} {
		t.Run(name, func(t *testing.T) {
			var all []string
			for _, v := range findSpec(c.pages) {
				all = append(all, v.String())
			}
			if !strings.Contains(strings.Join(all, "\n"), c.says) {
				t.Errorf("it says %q, and not %q", all, c.says)
			}
		})
	}
}
