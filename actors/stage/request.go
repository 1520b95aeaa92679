package stage

import "troupe/messages"

// Ask is a request on its way to its owner, who calls Reply once, from any goroutine; it may do so long after Receive has returned.
type Ask struct {
	Request messages.Request
	Reply   func(answer any, err error)
}

// OnDeadLetter implements DeadLetter: it answers the request's own error (DeadLetterError), or messages.Unavailable.
func (a Ask) OnDeadLetter() {
	if q, ok := a.Request.(interface{ DeadLetterError() error }); ok {
		a.Reply(nil, q.DeadLetterError())
		return
	}
	a.Reply(nil, messages.Errorf(messages.Unavailable, "the host is shutting down"))
}

// Request is an Ask whose type is known.
type Request[Q, A any] struct {
	Request Q
	Reply   func(A, error)
}

// None is the answer of requests that return only an error.
type None = messages.None

// As returns an Ask with the type of its request q.
func As[Q messages.RequestOf[A], A any](q Q, a Ask) Request[Q, A] {
	return Request[Q, A]{Request: q, Reply: func(answer A, err error) { a.Reply(answer, err) }}
}

// Send implements messages.Sender: it asks the actor.
func (r *Ref) Send(q messages.Request, reply func(any, error)) { r.Tell(Ask{Request: q, Reply: reply}) }

// With returns a function that answers with what answer points to when it is called, or with an error.
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
