package messages

import (
	"context"
	"fmt"
)

// Route says which owner answers a request.
type Route uint8

// Values of Route. A cluster has only one owner for each of the first three routes, on its leader.
const (
	RouteCatalog     Route = iota + 1 // fleets, aliases, locations, scripts, and the choice of the place for a new game session
	RoutePlacements                   // queues and placements
	RouteMatchmaking                  // rule sets, matchmaking configurations, tickets
	RouteGameSession                  // the host that runs the request's game session or has its record
	RouteEveryHost                    // every host answers for its own game sessions; the answers are combined
	RouteThisHost                     // the host that receives the request
)

// Request is a question or a command to one owner. It is a plain value, because it may come from another host. It fails
// with an *Error or a context's error.
type Request interface{ Route() Route }

// RequestOf is a Request whose answer has the type A. A request type implements it by embedding one of the markers
// below. Answer exists only to carry the type and is never called.
type RequestOf[A any] interface {
	Request
	Answer() A
}

// None is the answer to requests that only return an error.
type None = struct{}

// Markers of requests. Each is named after its route.
type (
	ToCatalog[A any]     struct{ answeredWith[A] }
	ToPlacements[A any]  struct{ answeredWith[A] }
	ToMatchmaking[A any] struct{ answeredWith[A] }
	ToGameSession[A any] struct{ answeredWith[A] }
	ToEveryHost[A any]   struct{ answeredWith[A] }
	ToThisHost[A any]    struct{ answeredWith[A] }
)

func (ToCatalog[A]) Route() Route     { return RouteCatalog }
func (ToPlacements[A]) Route() Route  { return RoutePlacements }
func (ToMatchmaking[A]) Route() Route { return RouteMatchmaking }
func (ToGameSession[A]) Route() Route { return RouteGameSession }
func (ToEveryHost[A]) Route() Route   { return RouteEveryHost }
func (ToThisHost[A]) Route() Route    { return RouteThisHost }

type answeredWith[A any] struct{}

func (answeredWith[A]) Answer() (none A) { return }

// Doer is a host, or something that represents one. Do returns the answer of the request's owner. It returns the
// context's error when ctx ends first. Any goroutine may call it. Answers do not change after they have been returned.
type Doer interface {
	Do(ctx context.Context, q Request) (any, error)
}

// Do sends a request to d and returns the answer.
func Do[A any](ctx context.Context, d Doer, q RequestOf[A]) (A, error) {
	answer, err := d.Do(ctx, q)
	a, ok := answer.(A)
	if err == nil && answer != nil && !ok {
		err = fmt.Errorf("messages: a %T was answered with a %T", q, answer)
	}
	return a, err
}

// Sender is like Doer, for callers that do not wait. reply is called exactly once, from any goroutine, and must not
// block.
type Sender interface {
	Send(q Request, reply func(answer any, err error))
}

// Send sends a request to s and passes the answer to reply (see Sender).
func Send[A any](s Sender, q RequestOf[A], reply func(A, error)) {
	s.Send(q, func(answer any, err error) {
		a, _ := answer.(A) // the owner's answer has the type that the request declares
		reply(a, err)
	})
}

// Run is like Do, for requests whose answer is only an error.
func Run(ctx context.Context, d Doer, q RequestOf[None]) error {
	_, err := Do(ctx, d, q)
	return err
}
