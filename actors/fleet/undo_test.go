package fleet_test

import (
	"testing"
	"testing/synctest"

	"troupe/actors/actorstest"
	"troupe/actors/fleet/catalog"
	"troupe/actors/stage"
	"troupe/messages"
)

// queueUp sends a request and counts its answer.
func queueUp[A, Q any](h *host, failed *int, q Q) {
	h.registry.Tell(stage.Request[Q, A]{Request: q, Reply: func(_ A, err error) {
		if err != nil {
			*failed++
		}
	}})
	synctest.Wait()
}

func TestQueuedChangesThatAreNotStoredHaveNoEffect(t *testing.T) {
	fleetOf := func(h *host) *messages.Fleet {
		all, _ := request[[]*messages.Fleet](h, catalog.Fleets{})
		for _, f := range all {
			if f.ID == actorstest.Fleet {
				return f
			}
		}
		return nil
	}
	one, two := "one", "two"
	resource := func(kind, id string) messages.Resource { return messages.Resource{Kind: kind, ID: id} }
	for name, test := range map[string]func(h *host, failed *int) (left any, clean bool){
		"fleet, fleet": func(h *host, failed *int) (any, bool) {
			queueUp[*messages.Fleet](h, failed, messages.UpdateFleet{FleetID: actorstest.Fleet, Name: &one})
			queueUp[*messages.Fleet](h, failed, messages.UpdateFleet{FleetID: actorstest.Fleet, Description: &two})
			h.disk.release()
			f := fleetOf(h)
			return f, f.Name == "" && f.Description == ""
		},
		"fleet, tags": func(h *host, failed *int) (any, bool) {
			queueUp[*messages.Fleet](h, failed, messages.UpdateFleet{FleetID: actorstest.Fleet, Name: &one})
			queueUp[map[string]string](h, failed, messages.UpdateTags{Resource: resource("fleet", string(actorstest.Fleet)), Set: map[string]string{"a": "b"}})
			h.disk.release()
			f := fleetOf(h)
			return f, f.Name == "" && len(f.Tags) == 0
		},
		"alias, alias": func(h *host, failed *int) (any, bool) {
			queueUp[*messages.Alias](h, failed, messages.UpdateAlias{ID: actorstest.Alias, Name: &one})
			queueUp[*messages.Alias](h, failed, messages.UpdateAlias{ID: actorstest.Alias, Description: &two})
			h.disk.release()
			a, err := request[[]*messages.Alias](h, catalog.Aliases{ID: actorstest.Alias})
			if err != nil {
				h.Fatal(err)
			}
			return a[0], a[0].Name == "" && a[0].Description == ""
		},
		"tags, tags": func(h *host, failed *int) (any, bool) {
			queueUp[map[string]string](h, failed, messages.UpdateTags{Resource: resource("alias", string(actorstest.Alias)), Set: map[string]string{"a": "b"}})
			queueUp[map[string]string](h, failed, messages.UpdateTags{Resource: resource("alias", string(actorstest.Alias)), Set: map[string]string{"c": "d"}})
			h.disk.release()
			tags, err := request[map[string]string](h, resource("alias", string(actorstest.Alias)))
			return tags, err == nil && len(tags) == 0
		},
		"location deleted, made": func(h *host, failed *int) (any, bool) {
			queueUp[stage.None](h, failed, catalog.DropLocation{Name: "custom-x"})
			queueUp[messages.Location](h, failed, messages.Location{Name: "custom-x"})
			h.disk.release()
			all, err := request[[]messages.Location](h, catalog.Locations{})
			for _, l := range all {
				if l.Name == "custom-x" {
					return all, err == nil
				}
			}
			return all, false
		},
	} {
		t.Run(name, func(t *testing.T) {
			hosted(t, nil, func(h *host) {
				if _, err := request[messages.Location](h, messages.Location{Name: "custom-x"}); err != nil {
					h.Fatal(err)
				}
				failed := 0
				h.disk.set(errDisk)
				h.disk.hold()
				if left, clean := test(h, &failed); failed != 2 || !clean {
					h.Errorf("%d have failed, and this is left: %+v", failed, left)
				}
			})
		})
	}
}

// A change queued behind a refused one starts from the record before both.
func TestAChangeQueuedBehindARefusedOneContainsNothingOfIt(t *testing.T) {
	hosted(t, nil, func(h *host) {
		name, text := "one", "two"
		failed := 0
		h.disk.hold()
		h.disk.set(errDisk)
		queueUp[*messages.Alias](h, &failed, messages.UpdateAlias{ID: actorstest.Alias, Name: &name})
		h.disk.set(nil)
		queueUp[*messages.Alias](h, &failed, messages.UpdateAlias{ID: actorstest.Alias, Description: &text})
		h.disk.release()
		all, err := request[[]*messages.Alias](h, catalog.Aliases{ID: actorstest.Alias})
		if err != nil || failed != 1 || all[0].Name != "" || all[0].Description != text {
			h.Errorf("%d have failed, and this is left: %+v, %v", failed, all[0], err)
		}
	})
}
