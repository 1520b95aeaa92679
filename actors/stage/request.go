package stage

import "troupe/messages"

// Ask is a request sent to an actor. The actor calls Reply exactly once, on any goroutine, possibly long
// after Receive has returned.
type Ask struct {
	Request messages.Request
	Reply   func(answer any, err error)
}

// OnDeadLetter implements DeadLetter. It replies with the request's DeadLetterError if it has one, and
// otherwise with messages.Unavailable.
func (a Ask) OnDeadLetter() {
	if q, ok := a.Request.(interface{ DeadLetterError() error }); ok {
		a.Reply(nil, q.DeadLetterError())
		return
	}
	a.Reply(nil, messages.Errorf(messages.Unavailable, "the host is shutting down"))
}

// Request is an Ask with static types.
type Request[Q, A any] struct {
	Request Q
	Reply   func(A, error)
}

// None is the answer type of requests that return only an error.
type None = messages.None

// As converts an Ask to a Request with the type of q, which is the request of a.
func As[Q messages.RequestOf[A], A any](q Q, a Ask) Request[Q, A] {
	return Request[Q, A]{Request: q, Reply: func(answer A, err error) { a.Reply(answer, err) }}
}

// Send implements messages.Sender. It sends the request to the actor.
func (r *Ref) Send(q messages.Request, reply func(any, error)) { r.Tell(Ask{Request: q, Reply: reply}) }

// With returns a function that replies to the request. If its error is nil, the reply is the value to which
// answer points at that time.
func (r Request[Q, A]) With(answer *A) func(error) {
	return func(err error) {
		if err != nil {
			var none A
			r.Reply(none, err)
			return
		}
		r.Reply(*answer, nil)
	}
}
