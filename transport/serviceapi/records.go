package serviceapi

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
)

// This file converts the host's records to the SDK's structs. Counts are always included. Empty texts, zero
// times and port 0 are left out, because the model does not allow them.

// gameSession is the SDK's struct with one additional member. SDKs ignore unknown members in both protocols.
type gameSession struct {
	types.GameSession
	ScriptVersion *string // version of the script that runs the game session
}

// Outputs whose game sessions have the additional member.
type (
	gameSessionOutput  struct{ GameSession *gameSession }
	gameSessionsOutput struct {
		GameSessions []gameSession
		NextToken    *string
	}
)

func (s *Server) gameSession(r *messages.GameSession) *gameSession {
	policy := types.PlayerSessionCreationPolicyDenyAll
	if r.AcceptsPlayers {
		policy = types.PlayerSessionCreationPolicyAcceptAll
	}
	var properties []types.GameProperty
	for _, p := range r.Properties {
		properties = append(properties, types.GameProperty{Key: aws.String(p.Key), Value: aws.String(p.Value)})
	}
	return &gameSession{ScriptVersion: filled(r.ScriptVersion), GameSession: types.GameSession{
		GameSessionId:               filled(string(r.ID)),
		Name:                        filled(r.Name),
		FleetId:                     filled(string(r.FleetID)),
		FleetArn:                    aws.String(s.arns.mint("fleet", string(r.FleetID))),
		CreationTime:                moment(r.Created),
		TerminationTime:             moment(r.Terminated),
		CurrentPlayerSessionCount:   count(r.CurrentPlayers),
		MaximumPlayerSessionCount:   count(r.MaxPlayers),
		Status:                      types.GameSessionStatus(r.Status.String()),
		StatusReason:                types.GameSessionStatusReason(r.StatusReason),
		GameProperties:              properties,
		IpAddress:                   filled(r.IPAddress),
		DnsName:                     filled(r.DNSName),
		Port:                        port(r.Port),
		PlayerSessionCreationPolicy: policy,
		CreatorId:                   filled(r.CreatorID),
		GameSessionData:             filled(r.Data),
		MatchmakerData:              filled(r.MatchmakerData),
		Location:                    aws.String(cmp.Or(r.Location, s.arns.region)),
		PlayerGatewayStatus:         types.PlayerGatewayStatusDisabled,
	}}
}

func (s *Server) playerSessions(ctx context.Context, records []*messages.PlayerSession) []types.PlayerSession {
	return shownAll(records, func(r *messages.PlayerSession) *types.PlayerSession { return s.playerSession(ctx, r) })
}

func (s *Server) playerSession(ctx context.Context, r *messages.PlayerSession) *types.PlayerSession {
	return &types.PlayerSession{
		PlayerSessionId: filled(shownID(ctx, r.ID)),
		PlayerId:        filled(string(r.PlayerID)),
		GameSessionId:   filled(string(r.GameSessionID)),
		FleetId:         filled(string(r.FleetID)),
		FleetArn:        aws.String(s.arns.mint("fleet", string(r.FleetID))),
		CreationTime:    moment(r.Created),
		TerminationTime: moment(r.Terminated),
		Status:          types.PlayerSessionStatus(r.Status.String()),
		IpAddress:       filled(r.IPAddress),
		DnsName:         filled(r.DNSName),
		Port:            port(r.Port),
		PlayerData:      filled(r.PlayerData),
	}
}

// instanceTypeLocal is the instance type of fleets that do not set one.
const instanceTypeLocal = types.EC2InstanceType("local") // D-204

func (s *Server) fleet(r *messages.Fleet) *types.FleetAttributes {
	certificates := types.CertificateTypeDisabled
	if r.Certificates {
		certificates = types.CertificateTypeGenerated
	}
	attributes := &types.FleetAttributes{
		FleetId:                         filled(string(r.ID)),
		FleetArn:                        aws.String(s.arns.mint("fleet", string(r.ID))),
		FleetType:                       cmp.Or(types.FleetType(r.Shown.FleetType), types.FleetTypeOnDemand),
		InstanceType:                    cmp.Or(types.EC2InstanceType(r.Shown.InstanceType), instanceTypeLocal),
		Description:                     filled(r.Description),
		Name:                            filled(r.Name),
		CreationTime:                    moment(r.Created),
		TerminationTime:                 moment(r.Terminated),
		Status:                          types.FleetStatus(r.Status.String()),
		ServerLaunchPath:                filled(r.LaunchPath),
		ServerLaunchParameters:          filled(r.LaunchParams),
		LogPaths:                        r.Shown.LogPaths,
		MetricGroups:                    r.Shown.MetricGroups,
		InstanceRoleArn:                 filled(r.Shown.RoleARN),
		InstanceRoleCredentialsProvider: types.InstanceRoleCredentialsProvider(r.Shown.RoleCredentials),
		NewGameSessionProtectionPolicy:  protectionPolicy(r.Shown.Protection),
		ResourceCreationLimitPolicy:     shownCreatorLimit(r.CreatorLimit),
		CertificateConfiguration:        &types.CertificateConfiguration{CertificateType: certificates},
		ComputeType:                     types.ComputeTypeEc2,
		PlayerGatewayMode:               types.PlayerGatewayModeDisabled,
	}
	if r.Anywhere {
		attributes.ComputeType, attributes.InstanceType, attributes.FleetType = types.ComputeTypeAnywhere, "", ""
		if r.Shown.Cost != "" {
			attributes.AnywhereConfiguration = &types.AnywhereConfiguration{Cost: aws.String(r.Shown.Cost)}
		}
	}
	if r.BuildID != "" {
		attributes.BuildId = aws.String(string(r.BuildID))
		attributes.BuildArn = aws.String(s.arns.mint("build", string(r.BuildID)))
	}
	if r.ScriptID != "" {
		attributes.ScriptId = aws.String(string(r.ScriptID))
		attributes.ScriptArn = aws.String(s.arns.mint("script", string(r.ScriptID)))
	}
	return attributes
}

func filled(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func count(n int) *int32 {
	return aws.Int32(int32(min(max(n, 0), math.MaxInt32)))
}

func port(n int) *int32 {
	if n == 0 {
		return nil
	}
	return count(n)
}
