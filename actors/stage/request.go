package stage

import "troupe/messages"

// Request asks an actor for an answer of type A. The actor's Receive has one case for each
// pair of types. Reply is called exactly once, from any goroutine, and must not block; the
// error is a *messages.Error.
type Request[Q, A any] struct {
	Request Q
	Reply   func(A, error)
}

// None is the answer of requests that return only an error.
type None = struct{}

// OnDeadLetter implements DeadLetter. It answers with the error that the request declares
// (DeadLetterError), or with messages.Unavailable.
func (r Request[Q, A]) OnDeadLetter() {
	var none A
	if q, ok := any(r.Request).(interface{ DeadLetterError() error }); ok {
		r.Reply(none, q.DeadLetterError())
		return
	}
	r.Reply(none, messages.Errorf(messages.Unavailable, "the host is shutting down"))
}
