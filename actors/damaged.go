package actors

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rs/zerolog"

	"troupe/actors/bans"
	"troupe/actors/fleet"
	"troupe/actors/matchmaker"
	"troupe/actors/placement"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

// CheckStore returns the damaged records of a store, which Start would skip. It starts no actors and writes nothing.
func CheckStore(s store.Store) ([]store.Damage, error) {
	registry, err := fleet.New(fleet.Options{Store: s})
	if err != nil {
		return nil, err
	}
	placements, err := placement.Load(s)
	if err != nil {
		return registry.Damaged(), err
	}
	matchmaking, err := matchmaker.Load(s)
	if err != nil {
		return registry.Damaged(), err
	}
	all := slices.Concat(registry.Damaged(), placements.Damaged(), matchmaking.Damaged())
	_, banned, err := bans.Load(s)
	if all = append(all, banned...); err != nil {
		return all, err
	}
	damaged, err := s.Load(store.Event, func(id string, value []byte) error {
		if err := CheckEvent(value); err != nil {
			all = append(all, store.Damage{Kind: store.Event, ID: id, Err: err})
		}
		return nil
	})
	return append(all, damaged...), err
}

// CheckEvent returns an error if an event record is damaged.
func CheckEvent(value []byte) error {
	var e struct{ Kind messages.EventKind }
	if err := json.Unmarshal(value, &e); err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	if e.Kind == "" {
		return errors.New("is not complete")
	}
	return nil
}

// damagedShown limits the number of damaged records that are logged by name.
const damagedShown = 100

// ReportDamaged counts and logs damaged records.
func ReportDamaged(log zerolog.Logger, count *counters.Set, all []store.Damage) {
	count.StoreDamaged.Add(int64(len(all)))
	for i, d := range all {
		if i == damagedShown {
			log.Error().Int("more", len(all)-i).Msg("and more stored records cannot be used: see troupe store check")
			return
		}
		log.Error().Str("record", d.Name()).AnErr("error", d.Err).Str("means", Consequence(d.Kind)).
			Msg("a stored record cannot be used: the host goes on without it")
	}
}

// Consequence describes the effect of losing a record of a kind, and what the operator can do about it.
func Consequence(kind store.Kind) string {
	const restore = "; or stop the host and restore a backup with troupe restore"
	switch kind {
	case store.Script:
		return "the script is gone, and its fleets are in ERROR: create the script and its fleets again" + restore
	case store.Content:
		return "the script's fleets run its last good content, or are in ERROR: update the script" + restore
	case store.Build:
		return "the build is gone, and its fleets are in ERROR: create the build and its fleets again" + restore
	case store.Fleet:
		return "the fleet is gone, or, if it is configured, as the configuration says; aliases and queues that name it do not work: create a fleet, and change them to name the new one" + restore
	case store.Alias:
		return "the alias is gone, or, if it is configured, as the configuration says: create one, and change the queues and programs that name this one" + restore
	case store.Location:
		return "the location is gone, and fleets there go on: create it again" + restore
	case store.Compute:
		return "the compute is gone, and its processes cannot connect: register it again" + restore
	case store.Process:
		return "the process, if it runs, is not known any more: its game session is over, and its id stays taken"
	case store.Queue:
		return "the queue is gone, or, if it is configured, as the configuration says; its PENDING placements fail: create it again" + restore
	case store.Placement:
		return "the placement is not shown, and does not go on if it was PENDING; its id stays taken: start another" + restore
	case store.RuleSet:
		return "the rule set is gone, or, if it is configured, as the configuration says; tickets of its matchmaking configurations wait for their timeout: create it again" + restore
	case store.Matchmaker:
		return "the matchmaking configuration is gone, or, if it is configured, as the configuration says; its tickets fail: create it again" + restore
	case store.Ticket:
		return "the ticket is not shown, and does not go on; its id stays taken: start another" + restore
	case store.Match:
		return "the match is dropped, and its tickets wait for another"
	case store.MatchedGame:
		return "the game session gets no players by automatic backfill, and cannot ask for them"
	case store.GameSession:
		return "the game session, which the host's end has ended, is not shown with its player sessions; its id and idempotency token stay taken"
	case store.PlayerSession:
		return "the player session, whose game session has ended, is not shown, and its id takes no seat"
	case store.Event:
		return "nobody is told of the event"
	case store.Ban:
		return "the player is not kept out any more: ban the player again"
	case store.Trial:
		return "the content of a script is tried as if it had not been tried before"
	case store.Secret:
		return "there is a new one: lists that callers are reading page by page must be read again"
	}
	return "this version of the host does not know this kind of record: see troupe store check"
}
