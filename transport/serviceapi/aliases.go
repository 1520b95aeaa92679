package serviceapi

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
	"troupe/transport/awswire"
)

// aliasMessageMax bounds the message of a TERMINAL alias. The service model has no bound.
const aliasMessageMax = 1024

func (s *Server) createAlias(ctx context.Context, in *gamelift.CreateAliasInput) (*gamelift.CreateAliasOutput, error) {
	routing, err := routingOf(in.RoutingStrategy)
	if err != nil {
		return nil, err
	}
	tags, err := tagsOf(in.Tags)
	shown, err := ask(ctx, s, err, messages.CreateAlias{
		Name: *in.Name, Description: aws.ToString(in.Description), FleetID: routing.FleetID, Message: routing.Message, Tags: tags,
	}, s.alias)
	return &gamelift.CreateAliasOutput{Alias: shown}, err
}

// routingOf converts a routing strategy. SIMPLE needs a fleet and TERMINAL a message; both together are
// refused.
func routingOf(in *types.RoutingStrategy) (routing messages.Routing, err error) {
	routing = messages.Routing{FleetID: messages.FleetID(aws.ToString(in.FleetId)), Message: aws.ToString(in.Message)}
	switch {
	case in.Type == "":
		return routing, invalid("RoutingStrategy needs a Type")
	case in.Type == types.RoutingStrategyTypeSimple && (routing.FleetID == "" || in.Message != nil):
		return routing, invalid("RoutingStrategy of type SIMPLE needs FleetId and has no Message")
	case in.Type == types.RoutingStrategyTypeTerminal && (routing.Message == "" || in.FleetId != nil):
		return routing, invalid("RoutingStrategy of type TERMINAL needs Message and has no FleetId")
	case len(routing.Message) > aliasMessageMax:
		return routing, invalid("RoutingStrategy.Message may have at most %d bytes, it has %d", aliasMessageMax, len(routing.Message))
	}
	return routing, nil
}

// oneAlias returns the alias that a member names.
func (s *Server) oneAlias(ctx context.Context, member *string) (*messages.Alias, error) {
	id, err := s.arns.alias(member)
	found, err := do(ctx, s, err, messages.AliasQuery{ID: id})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 || id == "" {
		return nil, messages.Errorf(messages.NotFound, "there is no alias %q", awswire.Clip(*member))
	}
	return found[0], nil
}

func (s *Server) describeAlias(ctx context.Context, in *gamelift.DescribeAliasInput) (*gamelift.DescribeAliasOutput, error) {
	record, err := s.oneAlias(ctx, in.AliasId)
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeAliasOutput{Alias: s.alias(record)}, nil
}

func (s *Server) updateAlias(ctx context.Context, in *gamelift.UpdateAliasInput) (*gamelift.UpdateAliasOutput, error) {
	req := messages.UpdateAlias{Name: in.Name, Description: in.Description}
	if in.RoutingStrategy != nil {
		routing, err := routingOf(in.RoutingStrategy)
		if err != nil {
			return nil, err
		}
		req.Routing = &routing
	}
	var err error
	req.ID, err = s.arns.alias(in.AliasId)
	shown, err := ask(ctx, s, err, req, s.alias)
	return &gamelift.UpdateAliasOutput{Alias: shown}, err
}

func (s *Server) deleteAlias(ctx context.Context, in *gamelift.DeleteAliasInput) (*gamelift.DeleteAliasOutput, error) {
	id, err := s.arns.alias(in.AliasId)
	return &gamelift.DeleteAliasOutput{}, s.run(ctx, err, messages.DeleteAlias{ID: id})
}

// listAliases lists aliases, oldest first, filtered by exact name and by type.
func (s *Server) listAliases(ctx context.Context, in *gamelift.ListAliasesInput) (*gamelift.ListAliasesOutput, error) {
	aliases, err := do(ctx, s, nil, messages.AliasQuery{})
	aliases = slices.DeleteFunc(slices.Clone(aliases), func(a *messages.Alias) bool {
		return in.Name != nil && a.Name != *in.Name || in.RoutingStrategyType != "" && routingType(a) != in.RoutingStrategyType
	})
	shown, token, err := page(s, err, pagingOf(in, pageMax), aliases, func(a *messages.Alias) position { return at(a.Created, a.ID) }, s.alias)
	return &gamelift.ListAliasesOutput{Aliases: shown, NextToken: token}, err
}

// resolveAlias returns the fleet that an alias names, even if the fleet has been deleted.
func (s *Server) resolveAlias(ctx context.Context, in *gamelift.ResolveAliasInput) (*gamelift.ResolveAliasOutput, error) {
	record, err := s.oneAlias(ctx, in.AliasId)
	if err != nil {
		return nil, err
	}
	if record.FleetID == "" {
		return nil, messages.Errorf(messages.TerminalRouting, "%s", record.Message)
	}
	id := string(record.FleetID)
	return &gamelift.ResolveAliasOutput{FleetId: aws.String(id), FleetArn: aws.String(s.arns.mint("fleet", id))}, nil
}

func routingType(a *messages.Alias) types.RoutingStrategyType {
	if a.FleetID == "" {
		return types.RoutingStrategyTypeTerminal
	}
	return types.RoutingStrategyTypeSimple
}

func (s *Server) alias(r *messages.Alias) *types.Alias {
	updated := r.Updated
	if updated.IsZero() {
		updated = r.Created
	}
	return &types.Alias{
		AliasId: filled(string(r.ID)), AliasArn: aws.String(s.arns.mintWithoutAccount("alias", string(r.ID))), Name: filled(r.Name), Description: filled(r.Description),
		RoutingStrategy: &types.RoutingStrategy{Type: routingType(r), FleetId: filled(string(r.FleetID)), Message: filled(r.Message)},
		CreationTime:    moment(r.Created), LastUpdatedTime: moment(updated),
	}
}
