package stage

import "troupe/messages"

// Request asks an actor for an answer of type A; the actor's Receive has one arm for
// each pair of types. Reply is called exactly once, from any goroutine, and must not block;
// the error is a *messages.Error.
type Request[Q, A any] struct {
	Request Q
	Reply   func(A, error)
}

// None is the answer of a request that succeeds or fails and returns nothing else.
type None = struct{}

// OnDeadLetter implements DeadLetter: the answer is messages.Unavailable, or the error
// that the request itself declares.
func (r Request[Q, A]) OnDeadLetter() {
	var none A
	if q, ok := any(r.Request).(interface{ DeadLetterError() error }); ok {
		r.Reply(none, q.DeadLetterError())
		return
	}
	r.Reply(none, messages.Errorf(messages.Unavailable, "the host is shutting down"))
}
