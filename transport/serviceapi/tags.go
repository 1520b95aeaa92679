package serviceapi

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
	"troupe/transport/awswire"
)

// tagged parses the ARN of a resource that can have tags. It ignores the account.
func (a arns) tagged(arn string) (messages.Resource, error) {
	resource, err := a.resource(arn)
	kind, id, ok := strings.Cut(resource, "/")
	if err != nil || !ok {
		return messages.Resource{}, messages.Errorf(messages.NotFound, "there is nothing named %q in %s that has tags", awswire.Clip(arn), a.region)
	}
	return messages.Resource{Kind: kind, ID: id}, nil
}

func (s *Server) tagResource(ctx context.Context, in *gamelift.TagResourceInput) (*gamelift.TagResourceOutput, error) {
	tags, err := tagsOf(in.Tags)
	if err != nil {
		return nil, err
	}
	return &gamelift.TagResourceOutput{}, s.updateTags(ctx, *in.ResourceARN, messages.UpdateTags{Set: tags})
}

func (s *Server) untagResource(ctx context.Context, in *gamelift.UntagResourceInput) (*gamelift.UntagResourceOutput, error) {
	return &gamelift.UntagResourceOutput{}, s.updateTags(ctx, *in.ResourceARN, messages.UpdateTags{Remove: in.TagKeys})
}

func (s *Server) updateTags(ctx context.Context, arn string, req messages.UpdateTags) (err error) {
	req.Resource, err = s.arns.tagged(arn)
	_, err = do(ctx, s, err, req)
	return err
}

// listTagsForResource lists the tags of a resource, sorted by key.
func (s *Server) listTagsForResource(ctx context.Context, in *gamelift.ListTagsForResourceInput) (*gamelift.ListTagsForResourceOutput, error) {
	resource, err := s.arns.tagged(*in.ResourceARN)
	tags, err := do(ctx, s, err, messages.TagQuery{Resource: resource})
	if err != nil {
		return nil, err
	}
	shown := make([]types.Tag, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		shown = append(shown, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return &gamelift.ListTagsForResourceOutput{Tags: shown}, nil
}

func tagsOf(given []types.Tag) (map[string]string, error) {
	if len(given) > messages.TagsMax {
		return nil, messages.Errorf(messages.TaggingFailed, "Tags may hold at most %d tags, it has %d", messages.TagsMax, len(given))
	}
	tags := make(map[string]string, len(given))
	for _, t := range given {
		if strings.HasPrefix(strings.ToLower(*t.Key), "aws:") {
			return nil, messages.Errorf(messages.TaggingFailed, "tag keys must not start with aws:, %q does", awswire.Clip(*t.Key))
		}
		if _, twice := tags[*t.Key]; twice {
			return nil, messages.Errorf(messages.TaggingFailed, "Tags holds the key %q twice", awswire.Clip(*t.Key))
		}
		tags[*t.Key] = *t.Value
	}
	return tags, nil
}
