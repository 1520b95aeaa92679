package serviceapi

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
	"troupe/messages/lazy"
)

// Limits of service-api.md 2.8.
const (
	queueTimeoutMin     = 10
	queueTimeoutMax     = 600
	queueTimeoutDefault = 600 // D-217
	destinationsMax     = 20  // D-218
	policiesMax         = 100 // the model sets no bound
	pageQueuesMax       = 50
	kindQueue           = "gamesessionqueue"
)

// Destinations must be ARNs; plain ids are refused.
var (
	fleetARN = lazy.Regexp(`\Aarn:.*:fleet/fleet-[a-zA-Z0-9-]+\z`)
	aliasARN = lazy.Regexp(`\Aarn:.*:alias/alias-[a-zA-Z0-9-]+\z`)
)

func (s *Server) createQueue(ctx context.Context, in *gamelift.CreateGameSessionQueueInput) (*gamelift.CreateGameSessionQueueOutput, error) {
	change, err := s.queueChange(&gamelift.UpdateGameSessionQueueInput{
		Name: in.Name, TimeoutInSeconds: in.TimeoutInSeconds, PlayerLatencyPolicies: in.PlayerLatencyPolicies, Destinations: in.Destinations,
		FilterConfiguration: in.FilterConfiguration, PriorityConfiguration: in.PriorityConfiguration,
		CustomEventData: in.CustomEventData, NotificationTarget: in.NotificationTarget,
	})
	if err != nil {
		return nil, err
	}
	tags, err := tagsOf(in.Tags)
	empty := &messages.Queue{Name: messages.QueueName(*in.Name), Timeout: queueTimeoutDefault * time.Second, Tags: tags}
	shown, err := ask(ctx, s, err, messages.CreateQueue{Queue: *change.Apply(empty)}, s.queue)
	return &gamelift.CreateGameSessionQueueOutput{GameSessionQueue: shown}, err
}

func (s *Server) updateQueue(ctx context.Context, in *gamelift.UpdateGameSessionQueueInput) (*gamelift.UpdateGameSessionQueueOutput, error) {
	change, err := s.queueChange(in)
	if err != nil {
		return nil, err
	}
	change.Name, err = s.arns.queue(in.Name)
	shown, err := ask(ctx, s, err, change, s.queue)
	return &gamelift.UpdateGameSessionQueueOutput{GameSessionQueue: shown}, err
}

// describeQueues lists queues, oldest first: all of them, or the named ones without unknown names.
func (s *Server) describeQueues(ctx context.Context, in *gamelift.DescribeGameSessionQueuesInput) (*gamelift.DescribeGameSessionQueuesOutput, error) {
	found, err := do(ctx, s, nil, messages.QueueQuery{})
	if len(in.Names) > 0 {
		wanted := make(map[messages.QueueName]bool, len(in.Names))
		for _, name := range in.Names {
			if id, err := s.arns.id(kindQueue, name); err == nil {
				wanted[messages.QueueName(id)] = true
			}
		}
		found = slices.DeleteFunc(slices.Clone(found), func(q *messages.Queue) bool { return !wanted[q.Name] })
	}
	shown, token, err := page(s, err, pagingOf(in, pageQueuesMax), found, func(q *messages.Queue) position { return at(q.Created, q.Name) }, s.queue)
	return &gamelift.DescribeGameSessionQueuesOutput{GameSessionQueues: shown, NextToken: token}, err
}

func (s *Server) deleteQueue(ctx context.Context, in *gamelift.DeleteGameSessionQueueInput) (*gamelift.DeleteGameSessionQueueOutput, error) {
	name, err := s.arns.queue(in.Name)
	return &gamelift.DeleteGameSessionQueueOutput{}, s.run(ctx, err, messages.DeleteQueue{Name: name})
}

// queueChange converts the members that create and update have in common, except the name.
func (s *Server) queueChange(in *gamelift.UpdateGameSessionQueueInput) (u messages.UpdateQueue, err error) {
	if t := in.TimeoutInSeconds; t != nil {
		if *t < queueTimeoutMin || *t > queueTimeoutMax {
			return u, invalid("TimeoutInSeconds must be %d to %d, it is %d", queueTimeoutMin, queueTimeoutMax, *t)
		}
		u.Timeout = time.Duration(*t) * time.Second
	}
	if in.PlayerLatencyPolicies != nil {
		policies, err := policiesOf(in.PlayerLatencyPolicies)
		if err != nil {
			return u, err
		}
		u.Policies = &policies
	}
	if in.FilterConfiguration != nil {
		u.AllowedLocations = &in.FilterConfiguration.AllowedLocations
	}
	if in.PriorityConfiguration != nil {
		priority, err := priorityOf(in.PriorityConfiguration)
		if err != nil {
			return u, err
		}
		u.Priority = &priority
	}
	u.CustomEventData, u.Notify = in.CustomEventData, in.NotificationTarget
	if in.Destinations != nil { // checked last: NotFound for another region must not hide an InvalidRequest
		destinations, err := s.destinationsOf(in.Destinations)
		if err != nil {
			return u, err
		}
		u.Destinations = &destinations
	}
	return u, nil
}

// policiesOf converts latency policies. A policy without a duration applies until the timeout, so it must be
// the last one and have the highest maximum.
func policiesOf(in []types.PlayerLatencyPolicy) ([]messages.LatencyPolicy, error) {
	if len(in) > policiesMax {
		return nil, invalid("PlayerLatencyPolicies may have at most %d items, it has %d", policiesMax, len(in))
	}
	policies := make([]messages.LatencyPolicy, len(in))
	highest, endless := -1, -1
	for i, p := range in {
		most := p.MaximumIndividualPlayerLatencyMilliseconds
		if most == nil {
			return nil, invalid("PlayerLatencyPolicies[%d].MaximumIndividualPlayerLatencyMilliseconds is required", i)
		}
		policies[i] = messages.LatencyPolicy{Max: int(*most), Duration: time.Duration(aws.ToInt32(p.PolicyDurationSeconds)) * time.Second}
		highest = max(highest, int(*most))
		if policies[i].Duration > 0 {
			continue
		}
		if endless >= 0 {
			return nil, invalid("PlayerLatencyPolicies[%d] and [%d] have no duration; one may have none", endless, i)
		}
		endless = i
	}
	if endless >= 0 && policies[endless].Max < highest {
		return nil, invalid("PlayerLatencyPolicies[%d] has no duration, so it must have the highest maximum", endless)
	}
	return policies, nil
}

// priorityOf converts a priority configuration. An empty one means no priorities.
func priorityOf(in *types.PriorityConfiguration) (p messages.QueuePriority, err error) {
	for _, key := range in.PriorityOrder {
		p.Order = append(p.Order, messages.Priority(key))
	}
	p.Locations = in.LocationOrder
	switch {
	case repeats(p.Order):
		return p, invalid("PriorityConfiguration.PriorityOrder names something twice")
	case repeats(p.Locations):
		return p, invalid("PriorityConfiguration.LocationOrder names a location twice")
	case slices.Contains(p.Order, messages.PriorityLocation) && len(p.Locations) == 0:
		return p, invalid("PriorityConfiguration needs a LocationOrder, because its PriorityOrder has LOCATION")
	}
	return p, nil
}

// repeats reports whether a list has duplicates.
func repeats[T comparable](list []T) bool {
	seen := make(map[T]bool, len(list))
	for _, item := range list {
		if seen[item] {
			return true
		}
		seen[item] = true
	}
	return false
}

// destinationsOf converts the ARNs of fleets and aliases to ids.
func (s *Server) destinationsOf(in []types.GameSessionQueueDestination) ([]string, error) {
	if len(in) > destinationsMax {
		return nil, invalid("Destinations may have at most %d items, it has %d", destinationsMax, len(in))
	}
	destinations := make([]string, len(in))
	resources := make([]string, len(in))
	for i, d := range in {
		if d.DestinationArn == nil {
			return nil, invalid("Destinations[%d].DestinationArn is required", i)
		}
		destinations[i] = *d.DestinationArn
		if fleetARN().MatchString(destinations[i]) || aliasARN().MatchString(destinations[i]) {
			continue
		}
		return nil, invalid("Destinations[%d].DestinationArn must be the ARN of a fleet or an alias", i)
	}
	for i, arn := range destinations {
		resource, err := s.arns.resource(arn)
		if err != nil {
			return nil, err
		}
		resources[i] = resource
	}
	if repeats(resources) {
		return nil, invalid("Destinations has a fleet or an alias twice")
	}
	return destinations, nil
}

// queue converts a queue to the SDK's struct.
func (s *Server) queue(r *messages.Queue) *types.GameSessionQueue {
	q := &types.GameSessionQueue{
		Name:                  filled(string(r.Name)),
		GameSessionQueueArn:   aws.String(s.arns.mint(kindQueue, string(r.Name))),
		TimeoutInSeconds:      count(int(r.Timeout / time.Second)),
		Destinations:          make([]types.GameSessionQueueDestination, len(r.Destinations)),
		PlayerLatencyPolicies: make([]types.PlayerLatencyPolicy, len(r.Policies)),
		CustomEventData:       filled(r.CustomEventData),
		NotificationTarget:    filled(r.Notify),
	}
	for i := range r.Destinations {
		q.Destinations[i].DestinationArn = &r.Destinations[i]
	}
	for i, p := range r.Policies {
		q.PlayerLatencyPolicies[i].MaximumIndividualPlayerLatencyMilliseconds = count(p.Max)
		if p.Duration > 0 {
			q.PlayerLatencyPolicies[i].PolicyDurationSeconds = count(int(p.Duration / time.Second))
		}
	}
	if len(r.AllowedLocations) > 0 {
		q.FilterConfiguration = &types.FilterConfiguration{AllowedLocations: r.AllowedLocations}
	}
	if r.HasPriority {
		q.PriorityConfiguration = &types.PriorityConfiguration{LocationOrder: r.LocationOrder}
		for _, key := range r.PriorityOrder {
			q.PriorityConfiguration.PriorityOrder = append(q.PriorityConfiguration.PriorityOrder, types.PriorityType(key))
		}
	}
	return q
}
