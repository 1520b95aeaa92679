package server

import (
	"context"
	"fmt"

	"troupe/bench/loadgen"
)

// waveMax is how many players are reserved before they connect. It is small enough that all connect long before a
// reservation expires.
const waveMax = 400

// Logins returns the logins of the room's players.
func (r Room) Logins() (all []loadgen.Login) {
	for _, id := range r.IDs {
		all = append(all, loadgen.Login{Room: r.Number, PlayerSessionID: id, Addr: r.Addr})
	}
	return all
}

// Fill opens rooms of size perRoom until the given number of players are logged in. The last room may be smaller.
func (p *Process) Fill(ctx context.Context, swarm *loadgen.Swarm, players, perRoom int) error {
	var wave []loadgen.Login
	for room, left := 0, players; left > 0; room++ {
		size := min(perRoom, left)
		opened, err := p.Open(ctx, room, size)
		if err != nil {
			return err
		}
		wave = append(wave, opened.Logins()...)
		left -= size
		if left > 0 && len(wave)+perRoom <= waveMax && !swarm.RoomsInTurn() {
			continue
		}
		if err := swarm.Connect(ctx, wave); err != nil {
			return fmt.Errorf("fill %s: %w", p.Spec.Title(), err)
		}
		wave = wave[:0]
	}
	return nil
}
