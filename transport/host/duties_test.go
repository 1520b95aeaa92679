package host

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/messages"
	"troupe/messages/coord"
)

func (c *hosts) page(i int, path string) int {
	w := httptest.NewRecorder()
	c.all[i].ops.Mux(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code
}

// CL-19: while etcd is away, every probe is answered with 200.
func TestProbesWithoutACoordinator(t *testing.T) {
	clustered(t, 2, func(c *hosts) {
		c.coordinator.SetAway(true)
		time.Sleep(time.Minute)
		for i := range c.all {
			assert.Equal(c, "health", c.page(i, "/healthz"), http.StatusOK)
			assert.Equal(c, "readiness", c.page(i, "/readyz"), http.StatusOK)
		}
		c.coordinator.SetAway(false)
		time.Sleep(10 * time.Second)
	})
}

// CL-33, NOSPACE: changes are refused with IS, and games go on. Afterwards everything works again.
func TestAFullCoordinator(t *testing.T) {
	clustered(t, 2, func(c *hosts) {
		games := []messages.GameSessionID{c.create(0).ID, c.create(1).ID}
		time.Sleep(2 * time.Second)
		c.coordinator.SetFull(true)
		time.Sleep(20 * time.Second)
		for i := range c.all {
			for _, id := range games {
				asked(c, i, messages.CreatePlayerSessions{GameSessionID: id, Players: []messages.NewPlayer{{PlayerID: messages.PlayerID(fmt.Sprint("p", i))}}})
			}
			c.refused(i, messages.Internal, messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 4})
			c.refused(i, messages.Internal, messages.CreateAlias{Name: "a", FleetID: "fleet-dev"})
			assert.Equal(c, "readiness", c.page(i, "/readyz"), http.StatusOK)
		}
		c.coordinator.SetFull(false)
		time.Sleep(5 * time.Second)
		for i := range c.all {
			asked(c, i, messages.CreateAlias{Name: fmt.Sprint("b", i), FleetID: "fleet-dev"})
			c.create(i)
		}
	})
}

// The leader deletes old records, and history of more than ten minutes.
func TestDutiesOfALeader(t *testing.T) {
	clustered(t, 2, func(c *hosts) {
		admin, keys := c.coordinator.Client(), coord.KeysOf("test")
		put := coord.Put(keys.Gone("old"), coord.Encode(coord.Gone{Ended: time.Now().Add(-25 * time.Hour)}))
		_, at, err := admin.Commit(c.Context(), nil, []coord.Change{put})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Minute)
		if found, err := admin.Read(c.Context(), coord.Query{Key: keys.Gone("old")}); err != nil || len(found.KVs) > 0 {
			t.Errorf("%+v, %v", found, err)
		}
		if _, err := admin.Read(c.Context(), coord.Query{Key: keys.Meta(), At: at - 1}); err == nil {
			t.Error("the history of 15 minutes ago is kept")
		}
	})
}
