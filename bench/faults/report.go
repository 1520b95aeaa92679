package faults

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"troupe/bench/page"
)

//go:embed page/body.html
var pageBody string

//go:embed page/page.js
var pageScript string

var reportPage = page.New(pageBody, pageScript)

// File names of a report.
const (
	PageFile  = "report.html"
	StoreFile = "faults.json" // written by Store
)

// shownKind is a kind of fault in the legend.
type shownKind struct {
	Kind    Kind
	Meaning string
	Count   int
}

// shownVerdict is a row of the table of promises.
type shownVerdict struct {
	Verdict
	Class string
}

// shownEvent is a row of the table of faults.
type shownEvent struct{ At, Fault, Target, For, Conditions string }

// shownFigure is one of the figures at the top.
type shownFigure struct{ Label, Value, Rest, Class string }

// WritePage writes the report as a page and as JSON into an existing folder.
func (r *Report) WritePage(folder string) error {
	shown := struct {
		*Report
		Summary  string
		Bad      bool
		Promises []shownVerdict
		Kinds    []shownKind
		Rows     []shownEvent
		Top      []shownFigure
	}{Report: r, Bad: r.Broken(), Top: r.top()}
	judged, bad := 0, 0
	for _, v := range r.Verdicts {
		class := map[string]string{holds: "holds", broken: "missed"}[v.Outcome]
		shown.Promises = append(shown.Promises, shownVerdict{v, class})
		if v.Outcome != notChecked {
			judged++
		}
		if v.Outcome == broken {
			bad++
		}
	}
	shown.Summary = fmt.Sprintf("All %d promises hold", judged)
	if bad > 0 {
		shown.Summary = fmt.Sprintf("%d of %d promises broken", bad, judged)
	}
	for _, kind := range kinds {
		k := shownKind{kind, meanings[kind], 0}
		for _, e := range r.Events {
			if e.Fault == kind {
				k.Count++
			}
		}
		if k.Count > 0 {
			shown.Kinds = append(shown.Kinds, k)
		}
	}
	for _, e := range r.Events {
		shown.Rows = append(shown.Rows, e.row())
	}
	var text bytes.Buffer
	if err := reportPage.Write(&text, "troupe faults: "+r.Scenario, shown, r); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, PageFile), text.Bytes(), 0o644); err != nil {
		return err
	}
	return r.Store(filepath.Join(folder, StoreFile))
}

// top returns the figures at the top of the page.
func (r *Report) top() []shownFigure {
	f := &r.Figures
	bad := func(n uint64) string {
		if n > 0 {
			return "missed"
		}
		return ""
	}
	all := []shownFigure{
		{"reliable messages", thousands(f.Sent), thousands(f.Delivered) + " delivered", ""},
		{"lost", thousands(f.Lost), fmt.Sprintf("%s reported", thousands(f.LostAndTold)), bad(f.Lost)},
		{"twice", thousands(f.Duplicated), thousands(f.OutOfOrder) + " out of order", bad(f.Duplicated)},
		{"fast messages", thousands(f.FastSent), thousands(f.FastDelivered) + " delivered", ""},
		{"resumes", thousands(uint64(f.Resumes)), "", ""},
	}
	if f.Resumes > 0 {
		all = append(all, shownFigure{"reattached, p50", fmt.Sprintf("%.0f ms", f.ReattachP50Ms), fmt.Sprintf("p99 %.0f ms, max %.0f ms", f.ReattachP99Ms, f.ReattachMaxMs), ""})
	}
	return all
}

// thousands formats n with thin spaces between groups of three digits.
func thousands(n uint64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:]
	}
	return digits
}

// row returns the table row that describes a fault.
func (e Event) row() shownEvent {
	text := func(d Duration) string {
		b, _ := d.MarshalText() // never fails
		return string(b)
	}
	row := shownEvent{At: text(e.At), Fault: string(e.Fault), Target: cmp.Or(e.Target, "host")}
	if e.Player >= 0 {
		row.Target = fmt.Sprintf("player %d", e.Player)
	}
	if e.For > 0 {
		row.For = text(e.For)
	}
	var words []string
	add := func(known bool, format string, values ...any) {
		if known {
			words = append(words, fmt.Sprintf(format, values...))
		}
	}
	add(e.Delay > 0, "delay %s", text(e.Delay))
	add(e.Jitter > 0, "jitter %s", text(e.Jitter))
	add(e.Loss > 0, "loss %g %%", e.Loss*100)
	add(e.Rate > 0, "%d bytes/s", e.Rate)
	add(e.Duplicate > 0, "%g %% come twice", e.Duplicate*100)
	add(e.MTU > 0, "MTU %d", e.MTU)
	add(e.Share > 0, "%g %% of the CPU", e.Share*100)
	add(e.MiB > 0, "%d MiB", e.MiB)
	add(e.From != "", "from %s", e.From)
	add(e.Direction == "up", "to the host only")
	add(e.Direction == "down", "to the player only")
	row.Conditions = strings.Join(slices.Clip(words), ", ")
	return row
}
