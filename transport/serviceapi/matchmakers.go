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

// matchQueuesMax is the maximum length of GameSessionQueueArns. The model sets no limit.
const matchQueuesMax = 10

func (s *Server) createMatchmaker(ctx context.Context, in *gamelift.CreateMatchmakingConfigurationInput) (*gamelift.CreateMatchmakingConfigurationOutput, error) {
	if *in.Name == "" {
		return nil, invalid("Name must not be empty")
	}
	change, err := s.matchmakerChange(&gamelift.UpdateMatchmakingConfigurationInput{
		AcceptanceRequired: in.AcceptanceRequired, AcceptanceTimeoutSeconds: in.AcceptanceTimeoutSeconds, AdditionalPlayerCount: in.AdditionalPlayerCount,
		BackfillMode: in.BackfillMode, CustomEventData: in.CustomEventData, Description: in.Description, FlexMatchMode: in.FlexMatchMode,
		GameProperties: in.GameProperties, GameSessionData: in.GameSessionData, GameSessionQueueArns: in.GameSessionQueueArns,
		NotificationTarget: in.NotificationTarget, RequestTimeoutSeconds: in.RequestTimeoutSeconds, RuleSetName: in.RuleSetName,
	})
	if err != nil {
		return nil, err
	}
	tags, err := tagsOf(in.Tags)
	empty := &messages.Matchmaker{Name: messages.MatchmakerName(*in.Name), Tags: tags}
	shown, err := ask(ctx, s, err, messages.CreateMatchmaker{Matchmaker: *change.Apply(empty)}, s.matchmaker)
	return &gamelift.CreateMatchmakingConfigurationOutput{Configuration: shown}, err
}

func (s *Server) updateMatchmaker(ctx context.Context, in *gamelift.UpdateMatchmakingConfigurationInput) (*gamelift.UpdateMatchmakingConfigurationOutput, error) {
	change, err := s.matchmakerChange(in)
	if err != nil {
		return nil, err
	}
	change.Name, err = s.arns.matcher(in.Name)
	shown, err := ask(ctx, s, err, change, s.matchmaker)
	return &gamelift.UpdateMatchmakingConfigurationOutput{Configuration: shown}, err
}

// matchmakerChange converts the members that create and update have in common, except the name.
func (s *Server) matchmakerChange(in *gamelift.UpdateMatchmakingConfigurationInput) (u messages.UpdateMatchmaker, err error) {
	if in.BackfillMode != "" {
		u.AutoBackfill = aws.Bool(in.BackfillMode == types.BackfillModeAutomatic)
	}
	u.Description, u.CustomEventData, u.Notify, u.Data = in.Description, in.CustomEventData, in.NotificationTarget, in.GameSessionData
	u.AcceptanceRequired = in.AcceptanceRequired
	u.RequestTimeout, u.AcceptanceTimeout = seconds(in.RequestTimeoutSeconds), seconds(in.AcceptanceTimeoutSeconds)
	if in.AdditionalPlayerCount != nil {
		u.AdditionalPlayers = aws.Int(int(*in.AdditionalPlayerCount))
	}
	if in.FlexMatchMode != "" {
		u.Standalone = aws.Bool(in.FlexMatchMode == types.FlexMatchModeStandalone)
	}
	if in.GameProperties != nil {
		properties, err := uniqueProperties(in.GameProperties)
		if err != nil {
			return u, err
		}
		u.Properties = &properties
	}
	if len(in.GameSessionQueueArns) > matchQueuesMax {
		return u, invalid("GameSessionQueueArns may have at most %d items, it has %d", matchQueuesMax, len(in.GameSessionQueueArns))
	}
	if in.GameSessionQueueArns != nil {
		queues := make([]messages.QueueName, len(in.GameSessionQueueArns))
		for i := range queues {
			if queues[i], err = s.arns.queue(&in.GameSessionQueueArns[i]); err != nil {
				return u, err
			}
		}
		u.Queues, u.QueueARNs = &queues, in.GameSessionQueueArns
	}
	if in.RuleSetName != nil {
		name, err := s.arns.ruleSet(in.RuleSetName)
		if err != nil {
			return u, err
		}
		u.RuleSet = &name
	}
	return u, nil
}

func seconds(n *int32) *time.Duration {
	if n == nil {
		return nil
	}
	d := time.Duration(*n) * time.Second
	return &d
}

// describeMatchmakers lists configurations, oldest first: all, the named ones, or those of a rule set.
func (s *Server) describeMatchmakers(ctx context.Context, in *gamelift.DescribeMatchmakingConfigurationsInput) (*gamelift.DescribeMatchmakingConfigurationsOutput, error) {
	rules, err := s.arns.ruleSet(in.RuleSetName)
	found, err := do(ctx, s, err, messages.MatchmakerQuery{})
	wanted := make(map[messages.MatchmakerName]bool, len(in.Names))
	for i := range in.Names {
		if name, err := s.arns.matcher(&in.Names[i]); err == nil {
			wanted[name] = true
		}
	}
	found = slices.DeleteFunc(slices.Clone(found), func(k *messages.Matchmaker) bool {
		return len(in.Names) > 0 && !wanted[k.Name] || rules != "" && k.RuleSet != rules
	})
	shown, token, err := page(s, err, pagingOf(in, pageMatchmakingMax), found, func(k *messages.Matchmaker) position { return at(k.Created, k.Name) }, s.matchmaker)
	return &gamelift.DescribeMatchmakingConfigurationsOutput{Configurations: shown, NextToken: token}, err
}

func (s *Server) deleteMatchmaker(ctx context.Context, in *gamelift.DeleteMatchmakingConfigurationInput) (*gamelift.DeleteMatchmakingConfigurationOutput, error) {
	name, err := s.arns.matcher(in.Name)
	return &gamelift.DeleteMatchmakingConfigurationOutput{}, s.run(ctx, err, messages.DeleteMatchmaker{Name: name})
}

func (s *Server) matchmaker(r *messages.Matchmaker) *types.MatchmakingConfiguration {
	k := &types.MatchmakingConfiguration{
		Name: aws.String(string(r.Name)), ConfigurationArn: aws.String(s.arns.mint(kindMatcher, string(r.Name))), Description: filled(r.Description),
		RuleSetName: aws.String(string(r.RuleSet)), RuleSetArn: aws.String(s.arns.mint(kindRuleSet, string(r.RuleSet))),
		FlexMatchMode: types.FlexMatchModeWithQueue, BackfillMode: types.BackfillModeManual, GameSessionQueueArns: r.QueueARNs,
		RequestTimeoutSeconds: count(int(r.RequestTimeout / time.Second)), AcceptanceRequired: aws.Bool(r.AcceptanceRequired),
		AdditionalPlayerCount: count(r.AdditionalPlayers), CustomEventData: filled(r.CustomEventData), NotificationTarget: filled(r.Notify),
		GameSessionData: filled(r.Data), CreationTime: moment(r.Created),
	}
	if r.Standalone {
		k.FlexMatchMode = types.FlexMatchModeStandalone
	}
	if r.AutoBackfill {
		k.BackfillMode = types.BackfillModeAutomatic
	}
	if r.AcceptanceTimeout > 0 {
		k.AcceptanceTimeoutSeconds = count(int(r.AcceptanceTimeout / time.Second))
	}
	for _, p := range r.Properties {
		k.GameProperties = append(k.GameProperties, types.GameProperty{Key: aws.String(p.Key), Value: aws.String(p.Value)})
	}
	return k
}
