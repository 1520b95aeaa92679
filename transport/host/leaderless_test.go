package host

import (
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/cluster/clustertest"
	"troupe/messages"
)

// CL-13, in part: a placement is described while no node leads. Its record is in etcd.
func TestAPlacementIsDescribedWithoutALeader(t *testing.T) {
	clustered(t, 3, func(c *hosts) {
		lead := leader(c)
		asked(c, 0, messages.StartPlacement{ID: "p", Queue: "queue-dev", MaxPlayers: 2})
		assert.Equal(c, "placement", c.ends(1, "p"), messages.PlacementFulfilled)
		known := asked(c, 0, messages.PlacementQuery{ID: "p"})
		c.clients[lead].SetFaults(clustertest.Faults{Requests: true}) // it ends without a word to the coordinator
		c.all[lead].Close()
		for _, i := range []int{(lead + 1) % 3, (lead + 2) % 3} { // in less than the 4 s for which the lease of the leader lasts at least
			begin := time.Now()
			p := asked(c, i, messages.PlacementQuery{ID: "p"})
			assert.Equal(c, "status and game session", p.Status.String()+string(p.GameSessionID), known.Status.String()+string(known.GameSessionID))
			if took := time.Since(begin); took > 1100*time.Millisecond {
				t.Errorf("the answer takes %v", took)
			}
		}
		c.refused((lead+1)%3, messages.NotFound, messages.PlacementQuery{ID: "none"})
		if c.all[(lead+1)%3].node.self.View().Leader == c.all[(lead+2)%3].node.name {
			t.Error("another one leads already")
		}
	})
}
