package script

// Decision is what a game says to a question of the host: Allow, Refuse, or Later. The zero value refuses.
type Decision struct {
	ok    bool
	later *Pending
}

// Decisions. Hold and Release are those on a lost player: wait for it, or let it go.
var (
	Allow  = Decision{ok: true}
	Refuse = Decision{}

	Hold, Release = Allow, Refuse
)

// AllowIf allows or refuses.
func AllowIf(ok bool) Decision { return Decision{ok: ok} }

// Later is a decision that p will bring.
func Later(p *Pending) Decision { return Decision{later: p} }

// Now returns the decision, and false if it is still to come. For the host.
func (d Decision) Now() (ok, now bool) {
	if d.later == nil {
		return d.ok, true
	}
	return d.later.ok, d.later.done
}

// Pending returns what will bring the decision, nil if it is made.
func (d Decision) Pending() *Pending {
	if d.later == nil || d.later.done {
		return nil
	}
	return d.later
}

// Pending is a decision that takes time; after 10 s it is refused (D-116). The zero value is ready for use. All its methods are for
// callbacks only; from another goroutine use Session.Do.
type Pending struct {
	done, ok bool
	reason   string
	then     func(ok bool)
}

// Decide ends the wait; later calls change nothing.
func (p *Pending) Decide(ok bool) { p.decide(ok, "") }

// Fail refuses, with words for the log.
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

// Reason returns what Fail was told.
func (p *Pending) Reason() string { return p.reason }

// Then has f called with the decision, at once if it is made. For the host, once.
func (p *Pending) Then(f func(ok bool)) {
	if p.done {
		f(p.ok)
		return
	}
	p.then = f
}
