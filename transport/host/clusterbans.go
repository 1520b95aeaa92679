package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"troupe/actors/bans"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/coord"
)

// The bans of a cluster are records of the catalog on its coordinator, which each node copies. Any node may change
// them. A node's own store has none.

const (
	banChangeMax = 5 * time.Second // maximum time for a change of bans
	bansAtOnce   = 50              // bans that one transaction gives to the cluster
	// enforceAfter is when a host removes the player of a ban by itself. Before, the node on which an operator has made the
	// ban asks this host to do so, and counts the player sessions that end. This host may not have answered.
	enforceAfter = 5 * time.Second
)

// banID returns the id of a ban's record. A player id may be too long for a key.
func banID(player messages.PlayerID) string {
	sum := sha256.Sum256([]byte(player))
	return hex.EncodeToString(sum[:])
}

// takeBans empties the host's list of bans, which is filled from the cluster. It keeps those of its own store.
func (n *clusterNode) takeBans() {
	n.formerBans, n.banned = n.host.bans.All(time.Now()), map[string]messages.PlayerID{}
	n.host.bans = bans.New()
}

// shareBans makes the bans of this host's own store bans of the cluster, which has precedence. It is called before
// anybody else can change bans here.
func (n *clusterNode) shareBans() error {
	if len(n.formerBans) == 0 {
		return nil
	}
	for part := range slices.Chunk(n.formerBans, bansAtOnce) { // there may be this many more than bans.Max
		err := n.insist(func(ctx context.Context) error {
			return n.writeBans(ctx, func() (changes []store.Change, err error) {
				for _, b := range part {
					if !n.host.bans.Has(b.Player, time.Now()) {
						changes = append(changes, store.Put(store.Ban, string(b.Player), b))
					}
				}
				_, err = n.host.bans.Room(part[0].Player, time.Now())
				return changes, err
			})
		})
		if err != nil {
			return err
		}
	}
	var own []store.Change
	for _, b := range n.formerBans {
		own = append(own, store.Delete(store.Ban, string(b.Player)))
	}
	n.formerBans = nil
	committed := make(chan error, 1)
	n.host.store.Commit(own, func(err error) { committed <- err })
	return <-committed // otherwise, the next start might bring back bans that are lifted from now on
}

// changeBans commits the changes that decide returns, and waits until they are in force here.
func (n *clusterNode) changeBans(ctx context.Context, decide func() ([]store.Change, func(), error)) error {
	within, cancel := context.WithTimeout(ctx, banChangeMax)
	defer cancel()
	return unavailable(ctx, n.writeBans(within, func() ([]store.Change, error) {
		changes, _, err := decide()
		return changes, err
	}))
}

func (n *clusterNode) writeBans(ctx context.Context, decide func() ([]store.Change, error)) error {
	return n.follower.Change(ctx, coord.Incarnation(n.keys.Node(n.name), n.incarnation.Load()), func() ([]store.Change, error) {
		changes, err := decide()
		for i := range changes {
			changes[i].ID = banID(messages.PlayerID(changes[i].ID))
		}
		return changes, err
	})
}

// unavailable returns the error for a caller whose context is ctx.
func unavailable(ctx context.Context, err error) error {
	var refusal *messages.Error
	switch {
	case err == nil, errors.As(err, &refusal):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return messages.Errorf(messages.Unavailable, "the bans of the cluster cannot be read or changed: %v", err)
}

// followBans applies changes of bans to the host's list. It removes players of new bans from the host's game sessions
// after enforceAfter.
func (n *clusterNode) followBans(changes []store.Change) {
	var made []messages.PlayerID
	for _, change := range changes {
		var b messages.Ban
		switch {
		case change.Kind != store.Ban:
		case change.Value == nil:
			n.host.bans.Lift(n.banned[change.ID])
			delete(n.banned, change.ID)
		case json.Unmarshal(change.Value, &b) != nil || banID(b.Player) != change.ID:
			n.log.Error().Str("id", change.ID).Msg("a ban of the cluster cannot be read: the player is let in")
		default:
			n.banned[change.ID] = b.Player
			n.host.bans.Put(b, nil)
			made = append(made, b.Player)
		}
	}
	select {
	case <-n.ready:
	default:
		return // the host has no players yet
	}
	if len(made) > 0 {
		n.work.Go(func() {
			if sleep(n.ctx, enforceAfter); n.ctx.Err() == nil {
				n.enforceBans(made)
			}
		})
	}
}

// enforceBans removes players who are banned now from the host's game sessions.
func (n *clusterNode) enforceBans(players []messages.PlayerID) {
	for _, player := range players {
		b, banned := n.host.bans.Find(player, time.Now())
		if !banned {
			continue
		}
		n.host.system.Send(messages.PlayerSessionQuery{PlayerID: player}, func(answer any, _ error) {
			records, _ := answer.([]*messages.PlayerSession)
			for _, s := range records {
				if !s.Status.Final() {
					n.host.system.Send(messages.KickPlayer{GameSession: s.GameSessionID, Player: player, Reason: b.Cause()}, func(any, error) {})
				}
			}
		})
	}
}
