package serviceapi

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/awswire"
)

// unavailable returns an operation that the host does not offer. Its error is UR if the operation declares
// that, else IR (service-api.md 2.1).
func unavailable(name, declared string) awswire.Operation {
	code := "IR"
	if declares(declared, "UR") {
		code = "UR"
	}
	return awswire.Refuse(name, declared, awswire.BadRequest(exceptions[code], "the operation "+name+" is not available on this host"))
}

// describeScalingPolicies returns an empty list, because fleets of this host do not scale automatically.
func (s *Server) describeScalingPolicies(ctx context.Context, in *gamelift.DescribeScalingPoliciesInput) (*gamelift.DescribeScalingPoliciesOutput, error) {
	f, err := s.oneFleet(ctx, in.FleetId)
	if err != nil {
		return nil, err
	}
	if in.Location != nil {
		if _, err := locationOf(f, *in.Location); err != nil {
			return nil, err
		}
	}
	none, err := emptyPage[types.ScalingPolicy](s, in)
	return &gamelift.DescribeScalingPoliciesOutput{ScalingPolicies: none}, err
}

// emptyPage returns the only page of an empty list. It refuses every page token.
func emptyPage[T any](s *Server, in any) ([]T, error) {
	none, _, err := cut(s.pager, pagingOf(in, pageMax), []T{}, func(T) position { return position{} })
	return none, err
}

// always returns a handler whose output does not depend on the input. Lists of resources that the host does
// not support are empty, so that inventory scripts work (service-api.md 2.1).
func always[In, Out any](out Out) func(context.Context, *In) (*Out, error) {
	return func(context.Context, *In) (*Out, error) { return new(out), nil }
}
