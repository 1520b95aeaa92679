package serviceapi

import (
	"context"
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
	"troupe/transport/awswire"
)

// dnsNameMax is the length of a DNS name that every Server SDK passes on whole (server-sdk.md 6.4).
const dnsNameMax = 63

// registerCompute registers a machine with an ANYWHERE fleet.
func (s *Server) registerCompute(ctx context.Context, in *gamelift.RegisterComputeInput) (*gamelift.RegisterComputeOutput, error) {
	if err := reachableCompute(in); err != nil {
		return nil, err
	}
	id, err := s.arns.fleet(in.FleetId)
	shown, err := ask(ctx, s, err, messages.RegisterCompute{Compute: messages.Compute{
		FleetID: id, Name: *in.ComputeName, Location: aws.ToString(in.Location),
		IPAddress: aws.ToString(in.IpAddress), DNSName: aws.ToString(in.DnsName), CertificatePath: aws.ToString(in.CertificatePath),
	}}, s.compute)
	return &gamelift.RegisterComputeOutput{Compute: shown}, err
}

// reachableCompute checks the members that say where players reach a compute.
func reachableCompute(in *gamelift.RegisterComputeInput) error {
	switch {
	case in.IpAddress == nil && in.DnsName == nil:
		return invalid("give IpAddress or DnsName")
	case in.Location == nil:
		return invalid("Location is required: one of the fleet's locations")
	case len(aws.ToString(in.DnsName)) > dnsNameMax:
		return invalid("DnsName may have at most %d characters", dnsNameMax)
	}
	if in.IpAddress == nil {
		return nil
	}
	if ip, err := netip.ParseAddr(*in.IpAddress); err != nil || ip.IsUnspecified() || ip.Zone() != "" {
		return invalid("IpAddress %q is not an IP address that players can connect to", awswire.Clip(*in.IpAddress))
	}
	return nil
}

func (s *Server) deregisterCompute(ctx context.Context, in *gamelift.DeregisterComputeInput) (*gamelift.DeregisterComputeOutput, error) {
	fleet, name, err := s.computeOf(in.FleetId, in.ComputeName)
	return &gamelift.DeregisterComputeOutput{}, s.run(ctx, err, messages.DeregisterCompute{FleetID: fleet, Name: name})
}

func (s *Server) describeCompute(ctx context.Context, in *gamelift.DescribeComputeInput) (*gamelift.DescribeComputeOutput, error) {
	fleet, name, err := s.computeOf(in.FleetId, in.ComputeName)
	found, err := do(ctx, s, err, messages.ComputeQuery{FleetID: fleet, Name: name})
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeComputeOutput{Compute: s.compute(found[0])}, nil
}

// computeOf converts the members that name a compute.
func (s *Server) computeOf(fleet, compute *string) (messages.FleetID, string, error) {
	id, err := s.arns.fleet(fleet)
	if err != nil {
		return "", "", err
	}
	name, err := s.arns.id("compute", *compute)
	return id, name, err
}

// listCompute lists the registered computes of a fleet, oldest first. A fleet with a script has none.
func (s *Server) listCompute(ctx context.Context, in *gamelift.ListComputeInput) (*gamelift.ListComputeOutput, error) {
	id, err := s.arns.fleet(in.FleetId)
	all, err := do(ctx, s, err, messages.ComputeQuery{FleetID: id})
	none := in.ContainerGroupDefinitionName != nil || in.ComputeStatus == types.ListComputeInputStatusImpaired
	all = slices.DeleteFunc(slices.Clone(all), func(m *messages.Compute) bool {
		return none || in.Location != nil && m.Location != *in.Location
	})
	position := func(m *messages.Compute) position { return at(m.Created, m.Name) }
	shown, token, err := page(s, err, pagingOf(in, pageMax), all, position, s.compute)
	return &gamelift.ListComputeOutput{ComputeList: shown, NextToken: token}, err
}

// getComputeAuthToken returns a token with which the processes of a compute connect to the Server SDK's endpoint.
func (s *Server) getComputeAuthToken(ctx context.Context, in *gamelift.GetComputeAuthTokenInput) (*gamelift.GetComputeAuthTokenOutput, error) {
	fleet, name, err := s.computeOf(in.FleetId, in.ComputeName)
	auth, err := do(ctx, s, err, messages.AuthorizeCompute{FleetID: fleet, Name: name})
	if err != nil {
		return nil, err
	}
	return &gamelift.GetComputeAuthTokenOutput{
		FleetId: aws.String(string(fleet)), FleetArn: aws.String(s.arns.mint("fleet", string(fleet))),
		ComputeName: aws.String(name), ComputeArn: aws.String(s.arns.mint("compute", name)),
		AuthToken: aws.String(auth.Token), ExpirationTimestamp: moment(auth.Expires),
	}, nil
}

func (s *Server) compute(m *messages.Compute) *types.Compute {
	return &types.Compute{
		FleetId: aws.String(string(m.FleetID)), FleetArn: aws.String(s.arns.mint("fleet", string(m.FleetID))),
		ComputeName: aws.String(m.Name), ComputeArn: aws.String(s.arns.mint("compute", m.Name)), ComputeStatus: types.ComputeStatusActive,
		IpAddress: filled(m.IPAddress), DnsName: filled(m.DNSName), Location: aws.String(m.Location), CreationTime: moment(m.Created),
		GameLiftServiceSdkEndpoint: filled(s.options.ServerSDK),
	}
}
