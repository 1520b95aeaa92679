package fleet

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"troupe/messages"
)

// One compute cannot use up the ids of others: what is dropped are its own oldest ones.
func TestUsedUpIdsOfManyComputes(t *testing.T) {
	u := newUsedUp()
	id := func(compute string, i int) messages.ProcessID {
		return messages.ProcessID{FleetID: "fleet-a", Compute: compute, Name: fmt.Sprint(i)}
	}
	for i := range 100 {
		u.add(id("few", i))
	}
	dropped := 0
	for i := range 2 * usedUpMax {
		for _, o := range u.add(id("many", i)) {
			if o != id("many", dropped) {
				t.Fatalf("%v is dropped, not %d", o, dropped)
			}
			dropped++
		}
		if len(u.is) > usedUpMax || len(u.is) < usedUpMax-usedUpDrop && i >= usedUpMax {
			t.Fatalf("%d ids", len(u.is))
		}
	}
	if !u.has(id("few", 0)) || !u.has(id("many", 2*usedUpMax-1)) || u.has(id("many", 0)) || dropped+len(u.is) != 100+2*usedUpMax {
		t.Errorf("%d dropped, %d there", dropped, len(u.is))
	}
}

// The index knows the game sessions of a player in order, whatever is forgotten.
func TestGameSessionsOfAPlayer(t *testing.T) {
	type row struct {
		id     messages.PlayerSessionID
		player messages.PlayerID
		e      *entry
	}
	r := rand.New(rand.NewPCG(1, 1))
	i, games := newPlayerIndex(), []*entry{{}, {}, {}}
	var all []row
	for n := range 3000 {
		if r.IntN(2) == 0 || len(all) == 0 {
			o := row{messages.PlayerSessionID(fmt.Sprint(n)), messages.PlayerID(fmt.Sprint(r.IntN(3))), games[r.IntN(3)]}
			i.set(o.id, o.player, o.e)
			all = append(all, o)
		} else {
			at := r.IntN(len(all))
			i.remove(all[at].id)
			i.remove(all[at].id)
			all = append(all[:at], all[at+1:]...)
		}
		for p := range 3 {
			player := messages.PlayerID(fmt.Sprint(p))
			want := map[*entry]bool{}
			for _, o := range all {
				if o.player == player {
					want[o.e] = true
				}
			}
			got := i.of(player)
			for _, e := range got {
				if !want[e] {
					t.Fatalf("after %d: a game session without the player, or twice", n)
				}
				delete(want, e)
			}
			if len(want) > 0 {
				t.Fatalf("after %d: %d game sessions are missing", n, len(want))
			}
		}
		if len(i.all) != len(all) || len(all) > 0 && i.get(all[0].id) != all[0].e {
			t.Fatal(len(i.all), len(all))
		}
	}
	for _, o := range all {
		i.remove(o.id)
	}
	if len(i.all)+len(i.by) != 0 {
		t.Error("it keeps what is forgotten")
	}
}
