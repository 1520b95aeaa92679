package serviceapi

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
)

// pageLocations is the default page size of ListLocations.
const pageLocations = 50 // D-203

func (s *Server) createLocation(ctx context.Context, in *gamelift.CreateLocationInput) (*gamelift.CreateLocationOutput, error) {
	tags, err := tagsOf(in.Tags)
	shown, err := ask(ctx, s, err, messages.CreateLocation{Location: messages.Location{Name: *in.LocationName, Tags: tags}}, s.location)
	return &gamelift.CreateLocationOutput{Location: shown}, err
}

func (s *Server) deleteLocation(ctx context.Context, in *gamelift.DeleteLocationInput) (*gamelift.DeleteLocationOutput, error) {
	name, err := s.arns.id("location", *in.LocationName)
	return &gamelift.DeleteLocationOutput{}, s.run(ctx, err, messages.DeleteLocation{Name: name})
}

// listLocations lists the host's own locations (AWS) and those created through the API (CUSTOM), sorted by
// name.
func (s *Server) listLocations(ctx context.Context, in *gamelift.ListLocationsInput) (*gamelift.ListLocationsOutput, error) {
	locations, err := do(ctx, s, nil, messages.LocationQuery{})
	locations = slices.DeleteFunc(slices.Clone(locations), func(l messages.Location) bool {
		filter := types.LocationFilterAws
		if messages.CustomLocation(l.Name) {
			filter = types.LocationFilterCustom
		}
		return in.Filters != nil && !slices.Contains(in.Filters, filter)
	})
	how := pagingOf(in, 200)
	how.limit = cmp.Or(how.limit, aws.Int32(pageLocations))
	shown, token, err := page(s, err, how, locations, func(l messages.Location) position { return at(time.Time{}, l.Name) }, s.location)
	return &gamelift.ListLocationsOutput{Locations: shown, NextToken: token}, err
}

func (s *Server) location(l messages.Location) *types.LocationModel {
	shown := &types.LocationModel{LocationName: aws.String(l.Name)}
	if messages.CustomLocation(l.Name) {
		shown.LocationArn = aws.String(s.arns.mint("location", l.Name))
	}
	return shown
}
