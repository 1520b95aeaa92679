package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/store"
	"troupe/messages"
)

// The host starts only if every destination of a configured queue exists, in the configuration or in the store. It
// also accepts a missing destination that may have been created, and later deleted, through the API.
func TestQueueToNowhereIsRefusedAtTheStart(t *testing.T) {
	synctest.Test(t, queueToNowhereIsRefusedAtTheStart)
}

func queueToNowhereIsRefusedAtTheStart(t *testing.T) {
	c := storeConfig(t)
	c.Matchmaking = Matchmaking{} // disable the matchmaking of the default queue
	at := memory(t)
	to := func(destinations ...string) {
		c.Queues = []Queue{{Name: "near", Timeout: 10 * time.Second, Destinations: destinations}}
	}
	// starts starts the host, calls during, and returns the host's warnings.
	starts := func(during func(h *Host)) (string, error) {
		t.Helper()
		log := new(sharedLog)
		h, err := Start(Options{Config: c, Log: log.at(zerolog.WarnLevel), Network: at})
		text := log.String()
		if err == nil {
			during(h)
			h.Close()
		}
		return text, err
	}
	nothing := func(*Host) {}
	for _, id := range []string{"fleet-nope", "alias-nope"} {
		to("alias-dev", id)
		if _, err := starts(nothing); err == nil || !strings.Contains(err.Error(), "queues[0].destinations") || !strings.Contains(err.Error(), id) {
			t.Errorf("%s: %v", id, err)
		}
	}
	to("alias-dev", "fleet-dev")
	var alias messages.AliasID
	var fleet messages.FleetID
	log, err := starts(func(h *Host) {
		a, err := messages.Do(t.Context(), h.System(), messages.CreateAlias{Name: "made", FleetID: "fleet-dev"})
		if err != nil {
			t.Fatal(err)
		}
		f, err := messages.Do(t.Context(), h.System(), messages.CreateFleet{Name: "made", Anywhere: true, Locations: []string{"custom-attic"}})
		if err != nil {
			t.Fatal(err)
		}
		alias, fleet = a.ID, f.ID
	})
	if err != nil || log != "" {
		t.Fatalf("%v, %s", err, log)
	}
	// Destinations that the API created are accepted.
	to(string(alias), string(fleet))
	log, err = starts(func(h *Host) {
		if err := messages.Run(t.Context(), h.System(), messages.DeleteFleet{ID: fleet}); err != nil {
			t.Fatal(err)
		}
		if _, err := messages.Do(t.Context(), h.System(), messages.CreateQueue{Queue: messages.Queue{Name: "other", Timeout: time.Minute, Destinations: []string{"arn:aws:gamelift:us-east-1::alias/" + string(alias)}}}); err != nil {
			t.Fatal(err)
		}
		if err := messages.Run(t.Context(), h.System(), messages.DeleteAlias{ID: alias}); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil || log != "" {
		t.Fatalf("%v, %s", err, log)
	}
	// If the API has deleted a destination and its record still exists, the host starts with a warning. The
	// same holds for a queue that the API created.
	to(string(fleet))
	log, err = starts(nothing)
	if err != nil || strings.Count(log, `"level":"warn"`) != 2 || !strings.Contains(log, `"queue":"near"`) || !strings.Contains(log, string(fleet)+" is TERMINATED") ||
		!strings.Contains(log, `"queue":"other"`) || !strings.Contains(log, string(alias)) {
		t.Errorf("%v, %s", err, log)
	}
	// The host also starts if the record is gone: the id has the form of those that the API creates.
	to("alias-dev", string(alias), "fleet-8d7e8bd0-8d0c-4c3e-8b52-9d1ad7d6c8f1")
	log, err = starts(func(h *Host) {
		// Placements use the remaining destination.
		p, err := messages.Do(t.Context(), h.System(), messages.StartPlacement{ID: "p", Queue: "near", MaxPlayers: 1})
		synctest.Wait()
		if p, err = messages.Do(t.Context(), h.System(), messages.PlacementQuery{ID: "p"}); err != nil || p.Status != messages.PlacementFulfilled {
			t.Fatal(p, err)
		}
	})
	if err != nil || !strings.Contains(log, `"queue":"near"`) || !strings.Contains(log, string(alias)+" is not known here") {
		t.Errorf("%v, %s", err, log)
	}
	// A misspelled destination in the same queue is still an error.
	to(string(alias), "alias-nope")
	if _, err := starts(nothing); err == nil || !strings.Contains(err.Error(), "queues[0].destinations") || !strings.Contains(err.Error(), "alias-nope") {
		t.Errorf("%v", err)
	}
	// If the API has changed a queue, the changed queue applies.
	to("alias-dev")
	if _, err = starts(func(h *Host) {
		if _, err := messages.Do(t.Context(), h.System(), messages.UpdateQueue{Name: "near", Timeout: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	to("fleet-nope")
	if _, err = starts(nothing); err != nil {
		t.Error(err)
	}
}

// The service API refuses a deleted fleet as a destination.
func TestQueueToADeletedFleetIsRefused(t *testing.T) { synctest.Test(t, queueToADeletedFleetIsRefused) }

func queueToADeletedFleetIsRefused(t *testing.T) {
	h := begin(t, Options{Config: config(t)})
	f, err := messages.Do(t.Context(), h.System(), messages.CreateFleet{Name: "made", Anywhere: true, Locations: []string{"custom-attic"}})
	if err != nil {
		t.Fatal(err)
	}
	q := messages.Queue{Name: "q", Timeout: time.Minute, Destinations: []string{"arn:aws:gamelift:us-east-1::fleet/" + string(f.ID)}}
	if _, err := messages.Do(t.Context(), h.System(), messages.CreateQueue{Queue: q}); err != nil {
		t.Fatal(err)
	}
	if err := messages.Run(t.Context(), h.System(), messages.DeleteFleet{ID: f.ID}); err != nil {
		t.Fatal(err)
	}
	q.Name = "late"
	if _, err := messages.Do(t.Context(), h.System(), messages.CreateQueue{Queue: q}); err == nil || !strings.Contains(err.Error(), "TERMINATED") {
		t.Errorf("created: %v", err)
	}
	if _, err := messages.Do(t.Context(), h.System(), messages.UpdateQueue{Name: "q", Destinations: &q.Destinations}); err == nil || !strings.Contains(err.Error(), "TERMINATED") {
		t.Errorf("updated: %v", err)
	}
}

func storeConfig(t *testing.T) Config {
	c := config(t)
	c.Store = Store{Path: filepath.Join(t.TempDir(), "deep", "store.db")}
	return c
}

func TestStoreIsOpenWhileTheHostRuns(t *testing.T) { synctest.Test(t, storeIsOpenWhileTheHostRuns) }

func storeIsOpenWhileTheHostRuns(t *testing.T) {
	c, at := storeConfig(t), memory(t)
	for range 2 { // the address is released at the end
		h, err := Start(Options{Config: c, Network: at})
		if err != nil {
			t.Fatal(err)
		}
		_, again := store.Open(store.Options{Path: c.Store.Path})
		_, second := Start(Options{Config: c, Network: at})
		h.Close()
		for _, err := range []error{again, second} {
			if err == nil || !strings.Contains(err.Error(), "another process has it open: process ") || !strings.Contains(err.Error(), c.Store.Path) {
				t.Errorf("taken twice: %v", err)
			}
		}
	}
}

func TestHostDoesNotStartWithoutItsStore(t *testing.T) {
	synctest.Test(t, hostDoesNotStartWithoutItsStore)
}

func hostDoesNotStartWithoutItsStore(t *testing.T) {
	c, at := storeConfig(t), memory(t)
	c.Store.Path = filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(c.Store.Path, []byte("something else, for sure"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(Options{Config: c, Network: at}); err == nil || !strings.Contains(err.Error(), "store.path") || !strings.Contains(err.Error(), c.Store.Path) {
		t.Errorf("%v", err)
	}
	c.Store = Store{}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "store.path: must name a file, or store.memory be true") {
		t.Errorf("%v", err)
	}
}
