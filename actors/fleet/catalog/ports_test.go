package catalog

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"troupe/actors/actorstest/assert"
	"troupe/messages"
)

func TestSharedPorts(t *testing.T) {
	have := []PortRange{{"a", 10, 19}, {"b", 30, 30}, {"a", 50, 59}}
	for _, try := range []struct {
		want []PortRange
		text string
	}{
		{nil, ""},
		{[]PortRange{{"c", 1, 9}, {"c", 20, 29}, {"c", 31, 49}, {"c", 60, 70}}, ""},
		{[]PortRange{{"c", 1, 10}}, "a 10"},
		{[]PortRange{{"c", 20, 29}, {"c", 19, 19}}, "a 10"},
		{[]PortRange{{"c", 20, 40}}, "b 30"},
		{[]PortRange{{"c", 1, 2}, {"c", 55, 56}}, "a 50"},
		{[]PortRange{{"c", 1, 100}}, "a 10"},
		{[]PortRange{{"a", 15, 55}}, "b 30"},
		{[]PortRange{{"a", 15, 16}}, ""},
	} {
		h, w, shared := SharedPorts(have, try.want)
		got := ""
		if shared {
			got = fmt.Sprint(h.Of, " ", h.From)
		}
		if got != try.text || shared && !slices.Contains(try.want, w) {
			t.Errorf("%v: %v and %v, %v", try.want, h, w, shared)
		}
	}
}

// ported asks for a fleet of a build with ports.
func ported(b *messages.Build, id messages.FleetID, all ...[]messages.Port) messages.CreateFleet {
	return messages.CreateFleet{ID: id, BuildID: b.ID, Locations: []string{home}, Ports: slices.Concat(all...), Runtime: runs("/local/game/server", "", 1)}
}

// All ranges of a fleet of a build are its own, not only the first one, and so are those of the configuration.
func TestNoTwoFleetsHaveAPort(t *testing.T) {
	run(t, func(w *world) {
		w.owner.c.o.Builds = allowed
		w.owner.c.fleets[configured].record.Server = &messages.GameServer{Path: "/srv/game", PortFrom: 7900, PortTo: 7909}
		b := ready(w)
		one := do[*messages.Fleet](w, ported(b, "fleet-1", ports(7000, 7009), ports(7100, 7109)))
		two := do[*messages.Fleet](w, ported(b, "fleet-2", ports(7200, 7209)))
		w.refuses(messages.InvalidRequest, ported(b, "", ports(7300, 7300), ports(7209, 7210)))
		w.refuses(messages.InvalidRequest, ported(b, "", ports(7109, 7110)))
		w.refuses(messages.InvalidRequest, ported(b, "", ports(7909, 7910)))
		w.refuses(messages.InvalidRequest, messages.UpdatePorts{FleetID: two.ID, Add: ports(7105, 7105)})
		w.refuses(messages.InvalidRequest, messages.UpdatePorts{FleetID: two.ID, Add: ports(7900, 7900)})
		udp := messages.Port{From: 7000, To: 7009, Range: "0.0.0.0/0", Protocol: "UDP"}
		do[*messages.Fleet](w, messages.UpdatePorts{FleetID: one.ID, Add: []messages.Port{udp}}) // its own ports, by another protocol
		do[*messages.Fleet](w, messages.UpdatePorts{FleetID: one.ID, Remove: ports(7100, 7109)})
		do[*messages.Fleet](w, messages.UpdatePorts{FleetID: two.ID, Add: ports(7105, 7105)})
		do[any](w, messages.DeleteFleet{ID: two.ID})
		do[*messages.Fleet](w, ported(b, "", ports(7200, 7209)))
	})
}

// Two calls at the same time do not get the same ports, and ports are free again if the store refuses a change.
func TestPortsThatAreBeingStored(t *testing.T) {
	run(t, func(w *world) {
		w.owner.c.o.Builds = allowed
		b := ready(w)
		one := do[*messages.Fleet](w, ported(b, "fleet-1", ports(7000, 7009)))
		other := do[*messages.Fleet](w, ported(b, "fleet-3", ports(7400, 7409)))
		w.disk.Hold()
		first := w.later(ported(b, "fleet-2", ports(7100, 7109)))
		moved := w.later(messages.UpdatePorts{FleetID: one.ID, Remove: ports(7000, 7009), Add: ports(7200, 7209)})
		for _, p := range [][]messages.Port{ports(7105, 7105), ports(7205, 7205), ports(7005, 7005)} {
			w.refuses(messages.InvalidRequest, ported(b, "", p))
		}
		w.refuses(messages.InvalidRequest, messages.UpdatePorts{FleetID: other.ID, Add: ports(7100, 7100)})
		w.disk.Refuse()
		w.disk.Release()
		synctest.Wait()
		if len(*first) != 1 || (*first)[0] == nil || len(*moved) != 1 || (*moved)[0] != nil {
			t.Errorf("%v, %v", *first, *moved)
		}
		assert.Equal(t, "claimed", len(w.owner.c.claimed), 0)
		do[*messages.Fleet](w, ported(b, "", ports(7100, 7109)))
		do[*messages.Fleet](w, ported(b, "", ports(7000, 7009)))
		w.refuses(messages.InvalidRequest, ported(b, "", ports(7205, 7205)))
		w.disk.Hold()
		again := w.later(messages.UpdatePorts{FleetID: one.ID, Add: ports(7300, 7300)})
		w.disk.Refuse()
		w.disk.Release()
		synctest.Wait()
		if len(*again) != 1 || (*again)[0] == nil {
			t.Errorf("%v", *again)
		}
		do[*messages.Fleet](w, ported(b, "", ports(7300, 7300)))
	})
}
