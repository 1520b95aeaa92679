package script

// Decision is a game's answer to a question of the host: Allow, Refuse, or Later. The zero value refuses.
type Decision struct {
	ok    bool
	later *Pending
}

// The immediate decisions. Hold and Release are the names for a lost player: wait for the player, or remove
// the player.
var (
	Allow  = Decision{ok: true}
	Refuse = Decision{}

	Hold, Release = Allow, Refuse
)

// AllowIf returns Allow if ok is true, and otherwise Refuse.
func AllowIf(ok bool) Decision { return Decision{ok: ok} }

// Later returns a decision that p will make later.
func Later(p *Pending) Decision { return Decision{later: p} }

// Now returns the decision. now is false if it is not made yet. Only the host calls it.
func (d Decision) Now() (ok, now bool) {
	if d.later == nil {
		return d.ok, true
	}
	return d.later.ok, d.later.done
}

// Pending returns the Pending that will make the decision, or nil if it is made.
func (d Decision) Pending() *Pending {
	if d.later == nil || d.later.done {
		return nil
	}
	return d.later
}

// Pending is a decision that takes time. If it is not made within 10 s, it counts as Refuse (D-116). The zero
// value is ready for use. Its methods may only be called in callbacks. Other goroutines use Session.Do.
type Pending struct {
	done, ok bool
	reason   string
	then     func(ok bool)
}

// Decide makes the decision. Only the first call of Decide or Fail has an effect.
func (p *Pending) Decide(ok bool) { p.decide(ok, "") }

// Fail refuses, with a reason for the log.
func (p *Pending) Fail(reason string) { p.decide(false, reason) }

func (p *Pending) decide(ok bool, reason string) {
	if p.done {
		return
	}
	p.done, p.ok, p.reason = true, ok, reason
	if then := p.then; then != nil {
		p.then = nil
		then(ok)
	}
}

// Reason returns the reason that was passed to Fail, if any.
func (p *Pending) Reason() string { return p.reason }

// Then makes f be called with the decision, at once if it is already made. Only the host calls it, and only
// once.
func (p *Pending) Then(f func(ok bool)) {
	if p.done {
		f(p.ok)
		return
	}
	p.then = f
}
