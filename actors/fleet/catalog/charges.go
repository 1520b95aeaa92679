package catalog

import (
	"slices"
	"time"

	"troupe/messages"
)

// creators records when each creator recently created game sessions. It keeps the times only as long as the limits need
// them (service-api.md 2.6 step 5).
type creators struct {
	made  map[creator]*creations
	added int // number of creations since the last sweep
}

type creator struct {
	fleet messages.FleetID
	id    string
}

// creations holds the recent creations of one creator, oldest first.
type creations struct {
	older  []bucket // only in a Leader: creations before those in made
	made   []creation
	keep   time.Duration
	stored bool // only in a Leader: there may be a record
}

type creation struct {
	at  time.Time
	tag tag // only in a Leader: names the game session
}

// withoutPolicy is the limit for a fleet without a ResourceCreationLimitPolicy.
var withoutPolicy = messages.CreatorLimit{PerPeriod: 1, Period: time.Second}

// creatorLimit returns the limit for the creators of a fleet. ok is false if the fleet has no limit (D-210).
func creatorLimit(f *messages.Fleet) (l messages.CreatorLimit, ok bool) {
	if f.CreatorLimit == nil {
		return withoutPolicy, true
	}
	l = *f.CreatorLimit
	return l, l.PerPeriod > 0 && l.Period > 0
}

// Charge counts a game session that a creator is about to create on a fleet. It returns an error if the creator's limit
// does not allow it.
func (c *Catalog) Charge(f *messages.Fleet, id string) error {
	if c.follower != nil {
		return nil // the Leader has already charged
	}
	limit, limited, err := limitOf(f, id)
	who, now := creator{f.ID, id}, c.context.Now()
	switch {
	case !limited:
		return err
	case !c.creators.allow(who, limit, now):
		return exceeded(f, id, limit)
	}
	c.creators.remember(who, limit, now)
	return nil
}

// limitOf returns the limit of a creator on a fleet. limited is false if there is none, or if err says that the creator
// must be named.
func limitOf(f *messages.Fleet, id string) (l messages.CreatorLimit, limited bool, err error) {
	l, limited = creatorLimit(f)
	switch {
	case !limited, id == "" && f.CreatorLimit == nil:
		return l, false, nil
	case id == "":
		return l, false, messages.Errorf(messages.InvalidRequest, "fleet %s limits what one creator may create: CreatorId is required", f.ID)
	}
	return l, true, nil
}

func exceeded(f *messages.Fleet, id string, l messages.CreatorLimit) error {
	return messages.Errorf(messages.LimitExceeded, "creator %s has created %d game sessions on fleet %s within %v", id, l.PerPeriod, f.ID, l.Period)
}

// Refund reverts the creator's last Charge, because the creation of the game session failed.
func (c *Catalog) Refund(f messages.FleetID, id string) { c.creators.refund(creator{f, id}) }

// Charged counts a game session that an earlier process of the host created. Calls must be in the order of creation.
func (c *Catalog) Charged(f messages.FleetID, id string, at time.Time) {
	if record := c.Fleet(f); record != nil && record.CreatorLimit != nil && id != "" {
		c.creators.remember(creator{f, id}, *record.CreatorLimit, at)
	}
}

func (c *creators) allow(who creator, l messages.CreatorLimit, now time.Time) bool {
	made := c.made[who]
	if made == nil {
		return true
	}
	made.forget(l.Period, now)
	return len(made.made) < l.PerPeriod
}

func (c *creators) remember(who creator, l messages.CreatorLimit, at time.Time) {
	if c.made == nil {
		c.made = make(map[creator]*creations)
	}
	made := c.made[who]
	if made == nil {
		made = new(creations)
		c.made[who] = made
	}
	made.made, made.keep = append(made.made, creation{at: at}), l.Period
	c.sweep(at)
}

func (c *creators) refund(who creator) {
	if made := c.made[who]; made != nil && len(made.made) > 0 {
		made.made = made.made[:len(made.made)-1]
	}
}

// sweepMin is the minimum number of creations between two sweeps.
const sweepMin = 16

// sweep forgets creators whose creations are all older than the period. Its amortized cost per creation is constant.
func (c *creators) sweep(now time.Time) {
	if c.added++; c.added < max(sweepMin, len(c.made)/2) {
		return
	}
	c.added = 0
	for who, made := range c.made {
		if made.forget(made.keep, now); len(made.made) == 0 {
			delete(c.made, who)
		}
	}
}

// forget drops the creations that are older than the period.
func (m *creations) forget(period time.Duration, now time.Time) {
	n := 0
	for n < len(m.made) && now.Sub(m.made[n].at) >= period {
		n++
	}
	m.made = slices.Delete(m.made, 0, n)
}
