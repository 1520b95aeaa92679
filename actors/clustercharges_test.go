package actors_test

import (
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/store"
	"troupe/messages"
)

// A new leader goes on with the charges of the old one, and drops them when their period is over.
func TestTheLimitOfACreatorOutlivesTheLeader(t *testing.T) {
	runCluster(t, func(c *cluster) {
		records := func() (n int) {
			_, err := c.shared.Load(store.Charge, func(string, []byte) error { n++; return nil })
			if err != nil {
				c.Fatal(err)
			}
			return n
		}
		limit := messages.CreatorLimit{PerPeriod: 2, Period: time.Hour}
		must(c, c.nodes[0], messages.UpdateFleet{FleetID: relays, CreatorLimit: &limit})
		create := messages.CreateGameSession{FleetID: relays, CreatorID: "eve", Tail: "gsess-1"}
		first := must(c, c.nodes[1], create).ID
		c.nodes[1].lead()
		time.Sleep(time.Second)
		assert.Equal(c, "game session of the repeated call", must(c, c.nodes[1], create).ID, first) // charged once
		create.Tail = ""
		must(c, c.nodes[2], create)
		c.nodes[0].lead()
		time.Sleep(time.Second)
		_, err := at(c, c.nodes[2], create)
		wantCode(c, err, messages.LimitExceeded)
		assert.Equal(c, "records", records(), 1)
		time.Sleep(time.Hour + chargeSweep)
		assert.Equal(c, "records after the period", records(), 0)
		must(c, c.nodes[2], create)
	})
}

const chargeSweep = time.Minute
