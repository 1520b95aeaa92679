package serviceapi

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"troupe/messages"
)

// describeIDsMax is the maximum number of ids in a Describe call.
const describeIDsMax = 25 // D-206

// listFleets lists the ids of all fleets, or of the fleets with a given script or build, oldest first.
func (s *Server) listFleets(ctx context.Context, in *gamelift.ListFleetsInput) (*gamelift.ListFleetsOutput, error) {
	if in.BuildId != nil && in.ScriptId != nil {
		return nil, invalid("give BuildId or ScriptId, not both")
	}
	build, err := s.arns.build(in.BuildId)
	if err != nil {
		return nil, err
	}
	script, err := s.arns.script(in.ScriptId)
	fleets, err := s.fleets(ctx, err)
	fleets = slices.DeleteFunc(slices.Clone(fleets), func(f *messages.Fleet) bool {
		return in.BuildId != nil && f.BuildID != build || in.ScriptId != nil && f.ScriptID != script
	})
	ids, token, err := page(s, err, pagingOf(in, pageMax), fleets, fleetPosition, func(f *messages.Fleet) *string { return new(string(f.ID)) })
	return &gamelift.ListFleetsOutput{FleetIds: ids, NextToken: token}, err
}

// describeFleetAttributes returns the named fleets in the given order, without unknown ones, or a page of all
// fleets (service-api.md 2.3).
func (s *Server) describeFleetAttributes(ctx context.Context, in *gamelift.DescribeFleetAttributesInput) (*gamelift.DescribeFleetAttributesOutput, error) {
	wanted, err := s.fleetIDs(in.FleetIds)
	fleets, err := s.fleets(ctx, err, wanted...)
	if in.FleetIds != nil {
		return &gamelift.DescribeFleetAttributesOutput{FleetAttributes: shownAll(pick(fleets, wanted), s.fleet)}, err
	}
	shown, token, err := page(s, err, pagingOf(in, pageMax), fleets, fleetPosition, s.fleet)
	return &gamelift.DescribeFleetAttributesOutput{FleetAttributes: shown, NextToken: token}, err
}

// terminatedShown is how long responses still list a TERMINATED fleet. It is short, because tools that delete
// a fleet wait until it is no longer listed.
const terminatedShown = 10 * time.Second

// fleets returns all fleets that responses list, with the wanted ones if they exist. If err is not nil, it only returns err.
func (s *Server) fleets(ctx context.Context, err error, wanted ...messages.FleetID) ([]*messages.Fleet, error) {
	all, err := do(ctx, s, err, messages.FleetQuery{With: wanted})
	now := time.Now()
	return slices.DeleteFunc(slices.Clone(all), func(f *messages.Fleet) bool {
		return !f.Terminated.IsZero() && now.Sub(f.Terminated) >= terminatedShown
	}), err
}

// pick returns the wanted fleets that exist, without duplicates.
func pick(fleets []*messages.Fleet, wanted []messages.FleetID) []*messages.Fleet {
	byID := make(map[messages.FleetID]*messages.Fleet, len(fleets))
	for _, f := range fleets {
		byID[f.ID] = f
	}
	var found []*messages.Fleet
	for _, id := range wanted {
		if f, ok := byID[id]; ok {
			found = append(found, f)
			delete(byID, id)
		}
	}
	return found
}

func fleetPosition(f *messages.Fleet) position { return at(f.Created, f.ID) }
