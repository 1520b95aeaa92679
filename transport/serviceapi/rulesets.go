package serviceapi

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
)

const (
	kindRuleSet = "matchmakingruleset"
	kindMatcher = "matchmakingconfiguration"
	// pageMatchmakingMax is the maximum page size for rule sets and configurations.
	pageMatchmakingMax = 10
)

func (s *Server) validateRuleSet(ctx context.Context, in *gamelift.ValidateMatchmakingRuleSetInput) (*gamelift.ValidateMatchmakingRuleSetOutput, error) {
	return &gamelift.ValidateMatchmakingRuleSetOutput{Valid: aws.Bool(true)}, s.run(ctx, nil, messages.CheckRuleSet{Body: *in.RuleSetBody})
}

func (s *Server) createRuleSet(ctx context.Context, in *gamelift.CreateMatchmakingRuleSetInput) (*gamelift.CreateMatchmakingRuleSetOutput, error) {
	if *in.Name == "" {
		return nil, invalid("Name must not be empty")
	}
	tags, err := tagsOf(in.Tags)
	shown, err := ask(ctx, s, err, messages.CreateRuleSet{
		RuleSet: messages.RuleSet{Name: messages.RuleSetName(*in.Name), Body: *in.RuleSetBody, Tags: tags},
	}, s.ruleSet)
	return &gamelift.CreateMatchmakingRuleSetOutput{RuleSet: shown}, err
}

// describeRuleSets lists rule sets, oldest first: all of them, or the named ones. An unknown name is a
// NotFound error.
func (s *Server) describeRuleSets(ctx context.Context, in *gamelift.DescribeMatchmakingRuleSetsInput) (*gamelift.DescribeMatchmakingRuleSetsOutput, error) {
	found, err := do(ctx, s, nil, messages.RuleSetQuery{})
	if err != nil {
		return nil, err
	}
	if len(in.Names) > 0 {
		wanted := make(map[messages.RuleSetName]bool, len(in.Names))
		for i := range in.Names {
			name, err := s.arns.ruleSet(&in.Names[i])
			if err != nil {
				return nil, err
			}
			if !slices.ContainsFunc(found, func(r *messages.RuleSet) bool { return r.Name == name }) {
				return nil, messages.Errorf(messages.NotFound, "rule set %s is not known here", name)
			}
			wanted[name] = true
		}
		found = slices.DeleteFunc(slices.Clone(found), func(r *messages.RuleSet) bool { return !wanted[r.Name] })
	}
	shown, token, err := page(s, nil, pagingOf(in, pageMatchmakingMax), found, func(r *messages.RuleSet) position { return at(r.Created, r.Name) }, s.ruleSet)
	return &gamelift.DescribeMatchmakingRuleSetsOutput{RuleSets: shown, NextToken: token}, err
}

func (s *Server) deleteRuleSet(ctx context.Context, in *gamelift.DeleteMatchmakingRuleSetInput) (*gamelift.DeleteMatchmakingRuleSetOutput, error) {
	name, err := s.arns.ruleSet(in.Name)
	return &gamelift.DeleteMatchmakingRuleSetOutput{}, s.run(ctx, err, messages.DeleteRuleSet{Name: name})
}

func (s *Server) ruleSet(r *messages.RuleSet) *types.MatchmakingRuleSet {
	return &types.MatchmakingRuleSet{
		RuleSetName: aws.String(string(r.Name)), RuleSetArn: aws.String(s.arns.mint(kindRuleSet, string(r.Name))),
		RuleSetBody: aws.String(r.Body), CreationTime: moment(r.Created),
	}
}
