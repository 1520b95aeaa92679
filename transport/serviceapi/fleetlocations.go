package serviceapi

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
)

func (s *Server) createFleetLocations(ctx context.Context, in *gamelift.CreateFleetLocationsInput) (*gamelift.CreateFleetLocationsOutput, error) {
	names, err := distinct(configured(in.Locations))
	if err != nil {
		return nil, err
	}
	id, err := s.arns.fleet(in.FleetId)
	if _, err := do(ctx, s, err, messages.AddFleetLocations{FleetID: id, Locations: names}); err != nil {
		return nil, err
	}
	return &gamelift.CreateFleetLocationsOutput{
		FleetId: aws.String(string(id)), FleetArn: aws.String(s.arns.mint("fleet", string(id))),
		LocationStates: locationStates(names, types.FleetStatusNew), // always NEW, as in the response of CreateFleet
	}, nil
}

func (s *Server) deleteFleetLocations(ctx context.Context, in *gamelift.DeleteFleetLocationsInput) (*gamelift.DeleteFleetLocationsOutput, error) {
	names, err := distinct(in.Locations)
	if err != nil {
		return nil, err
	}
	id, err := s.arns.fleet(in.FleetId)
	if _, err := do(ctx, s, err, messages.RemoveFleetLocations{FleetID: id, Locations: names}); err != nil {
		return nil, err
	}
	return &gamelift.DeleteFleetLocationsOutput{
		FleetId: aws.String(string(id)), FleetArn: aws.String(s.arns.mint("fleet", string(id))),
		LocationStates: locationStates(names, types.FleetStatusDeleting),
	}, nil
}

// describeFleetLocationAttributes returns the named locations of a fleet, with unknown ones as NOT_FOUND, or
// a page of all locations.
func (s *Server) describeFleetLocationAttributes(ctx context.Context, in *gamelift.DescribeFleetLocationAttributesInput) (*gamelift.DescribeFleetLocationAttributesOutput, error) {
	f, err := s.oneFleet(ctx, in.FleetId)
	if err != nil {
		return nil, err
	}
	names, token := in.Locations, (*string)(nil)
	if names == nil {
		names, token, err = cut(s.pager, pagingOf(in, pageMax), f.Locations, func(name string) position { return at(time.Time{}, name) })
		if err != nil {
			return nil, err
		}
	}
	shown := make([]types.LocationAttributes, len(names))
	for i, name := range names {
		state := locationStates([]string{name}, types.FleetStatus(f.Status.String()))[0]
		if !slices.Contains(f.Locations, name) {
			state.Status = types.FleetStatusNotFound
		}
		shown[i] = types.LocationAttributes{LocationState: &state}
	}
	return &gamelift.DescribeFleetLocationAttributesOutput{
		FleetId: aws.String(string(f.ID)), FleetArn: aws.String(s.arns.mint("fleet", string(f.ID))), LocationAttributes: shown, NextToken: token,
	}, nil
}

func configured(given []types.LocationConfiguration) []string {
	names := make([]string, len(given))
	for i, l := range given {
		names[i] = *l.Location
	}
	return names
}

// distinct refuses duplicate names.
func distinct(names []string) ([]string, error) {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, invalid("Locations holds %s twice", name)
		}
	}
	return names, nil
}

func locationStates(names []string, status types.FleetStatus) []types.LocationState {
	states := make([]types.LocationState, len(names))
	for i, name := range names {
		states[i] = types.LocationState{Location: aws.String(name), Status: status}
	}
	return states
}

// locationOf returns location, or a NotFound error if the fleet does not have it.
func locationOf(f *messages.Fleet, location string) (string, error) {
	if !slices.Contains(f.Locations, location) {
		return "", messages.Errorf(messages.NotFound, "fleet %s has no location %s", f.ID, location)
	}
	return location, nil
}
