package faults

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"troupe/bench/page/pagetest"
)

// reported returns the report of an invented run that contains everything that the page draws.
func reported() *Report {
	line := newTimeline(8 * time.Second)
	began := line.began
	for i := range 80 {
		at := began.Add(time.Duration(i) * 100 * time.Millisecond)
		line.count(at, func(m *Moment) { m.Sent++ })
		line.arrived(at, time.Duration(1+i)*time.Millisecond, false)
	}
	line.arrived(began, time.Second, true)
	line.count(began.Add(3*time.Second), func(m *Moment) { m.Lost++; m.Resumes++ })
	line.called(began, "accepted")
	line.called(began.Add(4*time.Second), "reconnected")
	line.away(1, began.Add(2*time.Second))
	line.away(1, began.Add(2500*time.Millisecond)) // already away
	line.back(1, began.Add(3*time.Second))
	line.back(0, began) // was not away
	r := &Report{
		Format: format, Scenario: "</script><b>train</b>", About: "a test", Seed: 7, Players: 2, Length: Duration(8 * time.Second), Transports: []string{"ws"},
		Events: []Event{
			{At: Duration(time.Second), Fault: Link, Player: 1, For: Duration(2 * time.Second), Conditions: Conditions{Loss: 0.05, Rate: 9, Direction: "up", Delay: Duration(time.Millisecond)}},
			{At: Duration(2 * time.Second), Fault: Reset, Player: 1},
			{At: Duration(3 * time.Second), Fault: Stall, Player: -1, For: Duration(time.Second)},
		},
		Verdicts: []Verdict{judge("RL-2", "nothing is lost", false, "1 lost"), judge("RL-3", "nothing is twice", true, "0"), {Promise: "unknown", Outcome: notChecked}},
		Figures:  Figures{Sent: 1234567, Lost: 1, Resumes: 1, ReattachP50Ms: 1000},
	}
	r.Timeline, r.Absences = line.close(2)
	return r
}

// A message belongs to the moment in which it was sent. A player without a connection is not counted as attached.
func TestTimeline(t *testing.T) {
	t.Parallel()
	r := reported()
	if want := []Absence{{1, 2, 3}}; !reflect.DeepEqual(r.Absences, want) {
		t.Errorf("%v", r.Absences)
	}
	for i, m := range r.Timeline {
		attached := 2
		if i >= 20 && i <= 30 {
			attached = 1
		}
		if m.Sent != 1 || m.Delivered != 1 || m.Attached != attached || m.P50Ms < float64(i+1)*0.8 || m.MaxMs > float64(i+1)*1.2+1 {
			t.Errorf("%d: %+v", i, m)
		}
	}
	if len(r.Timeline) != 80 || r.Timeline[0].Duplicated != 1 || r.Timeline[30].Lost != 1 || r.Timeline[30].Resumes != 1 || r.Timeline[40].Callbacks["reconnected"] != 1 {
		t.Errorf("%+v", r.Timeline)
	}
	// Times after the bound belong to the last moment.
	line := newTimeline(time.Millisecond)
	line.count(line.began.Add(time.Hour), func(m *Moment) { m.Lost++ })
	if got, _ := line.close(1); len(got) != momentsMax || got[momentsMax-1].Lost != 1 {
		t.Errorf("%d moments", len(got))
	}
}

func writeReport(t *testing.T, r *Report) (path string) {
	t.Helper()
	folder := t.TempDir()
	if err := r.WritePage(folder); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, PageFile)
}

// The page needs no network and lists the broken promises. The JSON file next to it can be replayed.
func TestPage(t *testing.T) {
	t.Parallel()
	r := reported()
	path := writeReport(t, r)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1 of 2 promises broken", `class="verdict missed"`, "&lt;/script&gt;&lt;b&gt;train", "1\u202f234\u202f567", "loss 5 %", "9 bytes/s", "to the host only", "uPlot=function", "the host stands still (1)",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q", want)
		}
	}
	for _, bad := range append([]string{"</script><b>"}, pagetest.Bad...) {
		if strings.Contains(string(text), bad) {
			t.Errorf("%q in the page", bad)
		}
	}
	if again, err := Read(filepath.Join(filepath.Dir(path), StoreFile)); err != nil || !reflect.DeepEqual(again.Events, r.Events) {
		t.Errorf("%+v, %v", again, err)
	}
}

// A browser draws the page without errors. The test needs Chromium.
func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	pagetest.Opens(t, writeReport(t, reported()), 5) // lanes, latency, players, counts, callbacks
}
