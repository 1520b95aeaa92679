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
	"troupe/transport/awswire"
)

func (s *Server) createFleet(ctx context.Context, in *gamelift.CreateFleetInput) (*gamelift.CreateFleetOutput, error) {
	req := messages.CreateFleet{
		Name: *in.Name, Description: aws.ToString(in.Description),
		LaunchPath: aws.ToString(in.ServerLaunchPath), LaunchParams: aws.ToString(in.ServerLaunchParameters),
		Certificates: in.CertificateConfiguration != nil && in.CertificateConfiguration.CertificateType == types.CertificateTypeGenerated,
		Shown: messages.FleetShown{
			InstanceType: string(in.EC2InstanceType), FleetType: string(in.FleetType),
			Protection: in.NewGameSessionProtectionPolicy == types.ProtectionPolicyFullProtection,
			LogPaths:   in.LogPaths, MetricGroups: in.MetricGroups,
			RoleARN: aws.ToString(in.InstanceRoleArn), RoleCredentials: string(in.InstanceRoleCredentialsProvider),
		},
	}
	if in.RuntimeConfiguration != nil {
		req.Runtime = runtimeOf(in.RuntimeConfiguration)
	}
	if err := notOffered(in); err != nil {
		return nil, err
	}
	var err error
	if req.CreatorLimit, err = creatorLimitOf(in.ResourceCreationLimitPolicy); err != nil {
		return nil, err
	}
	if req.Ports, err = portsOf("EC2InboundPermissions", in.EC2InboundPermissions); err != nil {
		return nil, err
	}
	where := s.onThisHost
	if in.ComputeType == types.ComputeTypeAnywhere {
		where = onComputes
	}
	if err := where(in, &req); err != nil {
		return nil, err
	}
	if req.Tags, err = tagsOf(in.Tags); err != nil {
		return nil, err
	}
	record, err := do(ctx, s, nil, req)
	if err != nil {
		return nil, err
	}
	states := locationStates(record.Locations, types.FleetStatus(record.Status.String()))
	return &gamelift.CreateFleetOutput{FleetAttributes: s.fleet(record), LocationStates: states}, nil
}

// notOffered refuses members that the host does not support and that must not be ignored silently.
func notOffered(in *gamelift.CreateFleetInput) error {
	switch {
	case in.PeerVpcId != nil || in.PeerVpcAwsAccountId != nil:
		return invalid("PeerVpcId and PeerVpcAwsAccountId are not available on this host")
	case in.PlayerGatewayConfiguration != nil:
		return invalid("PlayerGatewayConfiguration is not available on this host")
	case in.PlayerGatewayMode != "" && in.PlayerGatewayMode != types.PlayerGatewayModeDisabled:
		return invalid("PlayerGatewayMode must be DISABLED on this host")
	}
	return nil
}

// onThisHost converts the members of CreateFleet that define processes and locations.
func (s *Server) onThisHost(in *gamelift.CreateFleetInput, req *messages.CreateFleet) error {
	switch {
	case (in.BuildId == nil) == (in.ScriptId == nil):
		return invalid("give exactly one of BuildId and ScriptId")
	case in.AnywhereConfiguration != nil:
		return invalid("AnywhereConfiguration goes with ComputeType ANYWHERE")
	case in.BuildId != nil && req.Certificates:
		return invalid("CertificateConfiguration must be DISABLED for a build: its players connect to its own processes, not to this host")
	}
	names, err := distinct(configured(in.Locations))
	if err != nil {
		return err
	}
	req.Locations = []string{s.arns.region} // the backend adds it if it is missing
	for _, name := range names {
		if name != s.arns.region {
			req.Locations = append(req.Locations, name)
		}
	}
	if req.BuildID, err = s.arns.build(in.BuildId); err == nil {
		req.ScriptID, err = s.arns.script(in.ScriptId)
	}
	return err
}

// onComputes is onThisHost for an ANYWHERE fleet.
func onComputes(in *gamelift.CreateFleetInput, req *messages.CreateFleet) (err error) {
	switch {
	case in.BuildId != nil || in.ScriptId != nil || in.ServerLaunchPath != nil || in.ServerLaunchParameters != nil:
		return invalid("an ANYWHERE fleet has no build, script and launch path: its processes are started on its computes")
	case in.EC2InstanceType != "" || in.FleetType != "" || in.EC2InboundPermissions != nil || req.Certificates:
		return invalid("an ANYWHERE fleet has no EC2InstanceType, FleetType, EC2InboundPermissions and generated certificates")
	case in.Locations == nil:
		return invalid("Locations is required for an ANYWHERE fleet: names that begin with custom-")
	}
	req.Anywhere = true
	if in.AnywhereConfiguration != nil {
		req.Shown.Cost = aws.ToString(in.AnywhereConfiguration.Cost)
	}
	if req.Locations, err = distinct(configured(in.Locations)); err != nil {
		return err
	}
	for _, name := range req.Locations {
		if !messages.CustomLocation(name) {
			return invalid("location %s of an ANYWHERE fleet must be one that CreateLocation has created", awswire.Clip(name))
		}
	}
	return nil
}

func (s *Server) deleteFleet(ctx context.Context, in *gamelift.DeleteFleetInput) (*gamelift.DeleteFleetOutput, error) {
	id, err := s.arns.fleet(in.FleetId)
	return &gamelift.DeleteFleetOutput{}, s.run(ctx, err, messages.DeleteFleet{ID: id})
}

// describeFleetEvents lists the events of a fleet, newest first.
func (s *Server) describeFleetEvents(ctx context.Context, in *gamelift.DescribeFleetEventsInput) (*gamelift.DescribeFleetEventsOutput, error) {
	from, to := aws.ToTime(in.StartTime), aws.ToTime(in.EndTime)
	if in.StartTime != nil && in.EndTime != nil && from.After(to) {
		return nil, invalid("StartTime is after EndTime")
	}
	id, err := s.arns.fleet(in.FleetId)
	events, err := do(ctx, s, err, messages.FleetEventQuery{ID: id})
	events = slices.DeleteFunc(slices.Clone(events), func(e messages.FleetEvent) bool {
		t := messages.Shown(e.Time)
		return in.StartTime != nil && t.Before(from) || in.EndTime != nil && t.After(to)
	})
	how := pagingOf(in, pageMax)
	how.order = latestFirst // D-207
	when := func(e messages.FleetEvent) position { return at(e.Time, e.ID) }
	shown, token, err := page(s, err, how, events, when, func(e messages.FleetEvent) *types.Event {
		return &types.Event{
			EventId: aws.String(e.ID), ResourceId: aws.String(string(id)), EventCode: types.EventCode(e.Code),
			Message: filled(e.Message), EventTime: moment(e.Time), Count: aws.Int64(int64(e.Count)),
		}
	})
	return &gamelift.DescribeFleetEventsOutput{Events: shown, NextToken: token}, err
}

// describeRuntimeConfiguration returns the runtime configuration of a fleet with a script. A deleted fleet
// and a fleet without a script have none.
func (s *Server) describeRuntimeConfiguration(ctx context.Context, in *gamelift.DescribeRuntimeConfigurationInput) (*gamelift.DescribeRuntimeConfigurationOutput, error) {
	f, err := s.oneFleet(ctx, in.FleetId)
	if err != nil {
		return nil, err
	}
	out := &gamelift.DescribeRuntimeConfigurationOutput{}
	if f.Status != messages.FleetTerminated && len(f.Runtime.Processes) > 0 {
		out.RuntimeConfiguration = shownRuntime(f.Runtime)
	}
	return out, nil
}

func (s *Server) updateRuntimeConfiguration(ctx context.Context, in *gamelift.UpdateRuntimeConfigurationInput) (*gamelift.UpdateRuntimeConfigurationOutput, error) {
	if in.RuntimeConfiguration.ServerProcesses == nil {
		return nil, invalid("RuntimeConfiguration needs ServerProcesses")
	}
	id, err := s.arns.fleet(in.FleetId)
	shown, err := ask(ctx, s, err, messages.UpdateRuntime{FleetID: id, Runtime: runtimeOf(in.RuntimeConfiguration)},
		func(f *messages.Fleet) *types.RuntimeConfiguration { return shownRuntime(f.Runtime) })
	return &gamelift.UpdateRuntimeConfigurationOutput{RuntimeConfiguration: shown}, err
}

func runtimeOf(in *types.RuntimeConfiguration) messages.RuntimeConfiguration {
	rc := messages.RuntimeConfiguration{
		ActivatingMax:     int(aws.ToInt32(in.MaxConcurrentGameSessionActivations)),
		ActivationTimeout: time.Duration(aws.ToInt32(in.GameSessionActivationTimeoutSeconds)) * time.Second,
	}
	for _, p := range in.ServerProcesses {
		rc.Processes = append(rc.Processes, messages.ServerProcess{
			LaunchPath: *p.LaunchPath, Parameters: aws.ToString(p.Parameters), Concurrent: int(*p.ConcurrentExecutions),
		})
	}
	return rc
}

// scriptFolder is the launch path shown for a process configuration without one; the script then determines
// its main file.
const scriptFolder = "/local/game/"

// activationTimeout is shown for a fleet that does not set one.
const activationTimeout = 300 * time.Second // D-205

func shownRuntime(rc messages.RuntimeConfiguration) *types.RuntimeConfiguration {
	timeout := cmp.Or(rc.ActivationTimeout, activationTimeout)
	shown := &types.RuntimeConfiguration{GameSessionActivationTimeoutSeconds: count(int(timeout / time.Second))}
	if rc.ActivatingMax > 0 {
		shown.MaxConcurrentGameSessionActivations = count(rc.ActivatingMax)
	}
	for _, p := range rc.Processes {
		shown.ServerProcesses = append(shown.ServerProcesses, types.ServerProcess{
			LaunchPath: aws.String(cmp.Or(p.LaunchPath, scriptFolder)), Parameters: filled(p.Parameters), ConcurrentExecutions: count(p.Concurrent),
		})
	}
	return shown
}
