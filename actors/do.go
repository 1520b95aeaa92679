package actors

import (
	"context"
	"slices"

	"troupe/actors/fleet/catalog"
	"troupe/actors/matchmaker"
	"troupe/actors/placement"
	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/messages"
)

// Do implements messages.Doer. Preparations that a request needs before its owner receives it run on the caller's
// goroutine: Do assigns new ids, unpacks archives and checks that referenced names exist.
func (s *System) Do(ctx context.Context, q messages.Request) (any, error) {
	q = messages.WithID(q, "")
	if s.cluster != nil {
		return s.once(ctx, q)
	}
	return s.do(ctx, q)
}

func (s *System) do(ctx context.Context, q messages.Request) (any, error) {
	q, err := s.prepare(ctx, q)
	if err != nil {
		return nil, err
	}
	if q, ok := q.(messages.CheckRuleSet); ok {
		return messages.None{}, matchmaker.CheckRuleSet(q.Body)
	}
	answer, err := stage.Await(ctx, func(reply func(any, error)) { s.Send(q, reply) })
	if s.cluster != nil && needsLease(q) && !s.cluster.members.Leased() {
		return nil, messages.Errorf(messages.Unavailable, "another node may lead")
	}
	return answer, err
}

// Send is like Do, for callers that do not wait and for requests that need no preparation. reply is called exactly
// once, from any goroutine, and must not block.
func (s *System) Send(q messages.Request, reply func(any, error)) {
	switch q.(type) {
	case messages.Drain:
		s.matchmaking.Tell(matchmaker.Drain{})
		s.placements.Tell(placement.Drain{})
	case messages.CancelDrain:
		answer := reply
		reply = func(a any, err error) {
			if err == nil {
				s.placements.Tell(placement.CancelDrain{})
				s.matchmaking.Tell(matchmaker.CancelDrain{})
			}
			answer(a, err)
		}
	}
	s.owner(q).Send(q, reply)
}

// owner returns the actor on this host that answers a request. In a cluster, the leader's catalog makes the changes of
// resources.
func (s *System) owner(q messages.Request) *stage.Ref {
	switch q.Route() {
	case messages.RoutePlacements:
		return s.placements
	case messages.RouteMatchmaking:
		return s.matchmaking
	}
	if s.catalog != nil && changesCatalog(q) {
		return s.catalog
	}
	return s.fleet
}

// prepare converts a request to the form that its owner expects.
func (s *System) prepare(ctx context.Context, q messages.Request) (messages.Request, error) {
	switch q := q.(type) {
	case messages.CreateScript:
		b, err := s.unpack(ctx, q.Zip)
		return catalog.NewScript{Request: q, Bundle: b}, err
	case messages.UpdateScript:
		if q.Zip == nil {
			return catalog.ChangeScript{Request: q}, nil
		}
		b, err := s.unpack(ctx, q.Zip)
		return catalog.ChangeScript{Request: q, Bundle: b}, err
	case messages.CreateQueue:
		return q, s.checkDestinations(ctx, &q.Queue.Destinations)
	case messages.UpdateQueue:
		return q, s.checkDestinations(ctx, q.Destinations)
	case messages.CreateMatchmaker:
		if err := matchmaker.CheckMatchmaker(&q.Matchmaker); err != nil {
			return nil, err
		}
		return q, s.checkQueueNames(ctx, &q.Matchmaker.Queues)
	case messages.UpdateMatchmaker:
		return q, s.checkQueueNames(ctx, q.Queues)
	}
	return q, nil
}

// unpacksMax limits the number of archives that are unpacked at the same time, because each may need
// Options.Bundle.UnpackedMax bytes.
const unpacksMax = 2

func (s *System) unpack(ctx context.Context, zip []byte) (*bundle.Bundle, error) {
	select {
	case s.unpacks <- struct{}{}:
		defer func() { <-s.unpacks }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	b, err := bundle.FromZip(zip, s.bundle)
	if err != nil {
		return nil, messages.Errorf(messages.InvalidRequest, "ZipFile: %v", err)
	}
	return b, nil
}

// checkDestinations rejects invalid destinations of a queue. A nil arns means that the request does not change them.
func (s *System) checkDestinations(ctx context.Context, arns *[]string) error {
	if arns == nil || len(*arns) == 0 {
		return nil
	}
	var d messages.Doer = s
	if s.cluster != nil {
		d = s.cluster // the cluster waits for resources that were created a moment ago
	}
	_, err := messages.Do(ctx, d, messages.CheckDestinations{Destinations: *arns})
	return err
}

// checkQueueNames rejects names of queues that do not exist. A nil names means that the request does not change them.
func (s *System) checkQueueNames(ctx context.Context, names *[]messages.QueueName) error {
	if names == nil || len(*names) == 0 {
		return nil
	}
	all, err := messages.Do(ctx, s, messages.QueueQuery{})
	if err != nil {
		return err
	}
	for _, name := range *names {
		if !slices.ContainsFunc(all, func(q *messages.Queue) bool { return q.Name == name }) {
			return messages.Errorf(messages.NotFound, "queue %s is not known here", name)
		}
	}
	return nil
}
