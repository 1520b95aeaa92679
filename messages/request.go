package messages

import (
	"context"
	"fmt"
)

// Route says who answers a request.
type Route uint8

// The routes. The first three are owners of which a cluster has one, on its leader.
const (
	RouteCatalog     Route = iota + 1 // fleets, aliases, locations, scripts, and where a new game session starts
	RoutePlacements                   // queues and placements
	RouteMatchmaking                  // rule sets, matchmaking configurations, tickets
	RouteGameSession                  // the host that runs the game session of the request, or has its record
	RouteEveryHost                    // each host answers for its own game sessions; the answers are joined
	RouteThisHost                     // the host that is asked
)

// Request is a question or command for one owner, as a plain value, maybe from elsewhere. It fails with an *Error or a context's error.
type Request interface{ Route() Route }

// RequestOf is a Request answered with an A: a type embeds one of the markers below. Answer is for the type alone, never called.
type RequestOf[A any] interface {
	Request
	Answer() A
}

// None is the answer to requests that return only an error.
type None = struct{}

// Markers of requests, named after their route.
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

// Doer is a host, or something that stands for one. Do returns the answer of the request's owner, or the context's error once ctx
// ends; any goroutine may call it. Answers do not change afterwards.
type Doer interface {
	Do(ctx context.Context, q Request) (any, error)
}

// Do has a request answered.
func Do[A any](ctx context.Context, d Doer, q RequestOf[A]) (A, error) {
	answer, err := d.Do(ctx, q)
	a, ok := answer.(A)
	if err == nil && answer != nil && !ok {
		err = fmt.Errorf("messages: a %T was answered with a %T", q, answer)
	}
	return a, err
}

// Sender is a Doer for callers that do not wait. Reply is called once, from any goroutine, and must not block.
type Sender interface {
	Send(q Request, reply func(answer any, err error))
}

// Send has a request answered. See Sender.
func Send[A any](s Sender, q RequestOf[A], reply func(A, error)) {
	s.Send(q, func(answer any, err error) {
		a, _ := answer.(A) // an owner gives it the type that the request declares
		reply(a, err)
	})
}

// Run is Do for requests that are answered with an error only.
func Run(ctx context.Context, d Doer, q RequestOf[None]) error {
	_, err := Do(ctx, d, q)
	return err
}
