package serviceapi

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"troupe/messages"
	"troupe/transport/awswire/awswiretest"
)

func TestSDKPlaysThrough(t *testing.T) {
	a := newAPI(t)
	sdk := a.sdk(t, "/some/prefix")
	ctx := t.Context()

	fleets, err := sdk.ListFleets(ctx, &gamelift.ListFleetsInput{})
	if err != nil || len(fleets.FleetIds) != 2 {
		t.Fatalf("ListFleets: %v, %v", fleets, err)
	}
	attributes, err := sdk.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{fleetTwo, "fleet-none"}})
	if err != nil || len(attributes.FleetAttributes) != 1 {
		t.Fatalf("DescribeFleetAttributes: %v, %v", attributes, err)
	}
	if f := attributes.FleetAttributes[0]; f.Status != types.FleetStatusError || f.CertificateConfiguration.CertificateType != types.CertificateTypeGenerated ||
		!f.CreationTime.Equal(epochStart.Add(time.Second).Round(time.Millisecond)) {
		t.Errorf("got %+v", f)
	}
	created, err := sdk.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{
		AliasId: aws.String(aliasOne), MaximumPlayerSessionCount: aws.Int32(4), Name: aws.String("duel \u2603"),
		GameProperties:  []types.GameProperty{{Key: aws.String("mode"), Value: aws.String("")}},
		GameSessionData: aws.String("data"), CreatorId: aws.String("me"), IdempotencyToken: aws.String("t-1"),
	})
	if err != nil {
		t.Fatalf("CreateGameSession: %v", err)
	}
	g := created.GameSession
	want := messages.CreateGameSession{AliasID: aliasOne, MaxPlayers: 4, Name: "duel \u2603", Data: "data", CreatorID: "me",
		IdempotencyToken: "t-1", Properties: []messages.Property{{Key: "mode"}}}
	if got := a.fake.created[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("backend got %+v, want %+v", got, want)
	}
	if !strings.HasSuffix(*g.GameSessionId, "/t-1") || *g.CurrentPlayerSessionCount != 0 || *g.MaximumPlayerSessionCount != 4 ||
		g.PlayerSessionCreationPolicy != types.PlayerSessionCreationPolicyAcceptAll || *g.Port != 7000 || *g.Location != "us-east-1" ||
		len(g.GameProperties) != 1 || *g.GameProperties[0].Value != "" || g.TerminationTime != nil || g.StatusReason != "" ||
		!g.CreationTime.Equal(epochStart.Add(time.Millisecond).Round(time.Millisecond)) {
		t.Errorf("got %+v", g)
	}
	one, err := sdk.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: g.GameSessionId, PlayerId: aws.String("a"), PlayerData: aws.String("d")})
	if err != nil || one.PlayerSession.Status != types.PlayerSessionStatusReserved || *one.PlayerSession.PlayerData != "d" {
		t.Fatalf("CreatePlayerSession: %v, %v", one, err)
	}
	more, err := sdk.CreatePlayerSessions(ctx, &gamelift.CreatePlayerSessionsInput{
		GameSessionId: g.GameSessionId, PlayerIds: []string{"b", "c"}, PlayerDataMap: map[string]string{"c": "x"},
	})
	if err != nil || len(more.PlayerSessions) != 2 || *more.PlayerSessions[1].PlayerData != "x" {
		t.Fatalf("CreatePlayerSessions: %v, %v", more, err)
	}
	a.fake.games[0].ScriptVersion = "7" // a member that the vendor's service does not have
	games, err := sdk.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: g.GameSessionId})
	if err != nil || len(games.GameSessions) != 1 || *games.GameSessions[0].CurrentPlayerSessionCount != 3 || games.NextToken != nil {
		t.Fatalf("DescribeGameSessions: %v, %v", games, err)
	}
	found, err := sdk.SearchGameSessions(ctx, &gamelift.SearchGameSessionsInput{FleetId: aws.String(fleetOne), Limit: aws.Int32(50)})
	if err != nil || len(found.GameSessions) != 1 {
		t.Fatalf("SearchGameSessions: %v, %v", found, err)
	}
	for name, err := range map[string]error{
		"ListContainerFleets":              failure(sdk.ListContainerFleets(ctx, &gamelift.ListContainerFleetsInput{})),
		"ListContainerGroupDefinitions":    failure(sdk.ListContainerGroupDefinitions(ctx, &gamelift.ListContainerGroupDefinitionsInput{})),
		"ListGameServerGroups":             failure(sdk.ListGameServerGroups(ctx, &gamelift.ListGameServerGroupsInput{})),
		"DescribeVpcPeeringAuthorizations": failure(sdk.DescribeVpcPeeringAuthorizations(ctx, &gamelift.DescribeVpcPeeringAuthorizationsInput{})),
		"DescribeVpcPeeringConnections":    failure(sdk.DescribeVpcPeeringConnections(ctx, &gamelift.DescribeVpcPeeringConnectionsInput{})),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var players []string
	pages := gamelift.NewDescribePlayerSessionsPaginator(sdk, &gamelift.DescribePlayerSessionsInput{GameSessionId: g.GameSessionId, Limit: aws.Int32(1)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatalf("paginator: %v", err)
		}
		for _, p := range page.PlayerSessions {
			players = append(players, *p.PlayerId)
		}
	}
	if strings.Join(players, "") != "abc" {
		t.Errorf("paginated players %v", players)
	}
}

func failure[Out any](_ *Out, err error) error { return err }

// wantAs fails the test unless err is the modeled exception E with a message and a request id.
func wantAs[E interface {
	error
	smithy.APIError
}](t *testing.T, name string, err error) {
	t.Helper()
	var modeled E
	if !errors.As(err, &modeled) || modeled.ErrorMessage() == "" {
		t.Errorf("%s: got %v, want %T", name, err, modeled)
		return
	}
	var response *smithyhttp.ResponseError
	if !errors.As(err, &response) || response.Response.Header.Get("x-amzn-RequestId") == "" {
		t.Errorf("%s: no request id", name)
	}
}

func TestSDKTypedErrors(t *testing.T) {
	a := newAPI(t)
	sdk := a.sdk(t, "")
	create := func(code messages.ErrorCode) error {
		a.fake.fail = messages.Errorf(code, "because")
		_, err := sdk.CreateGameSession(t.Context(), &gamelift.CreateGameSessionInput{FleetId: aws.String(fleetOne), MaximumPlayerSessionCount: aws.Int32(1)})
		return err
	}
	seat := func(code messages.ErrorCode) error {
		a.fake.fail = messages.Errorf(code, "because")
		_, err := sdk.CreatePlayerSession(t.Context(), &gamelift.CreatePlayerSessionInput{
			GameSessionId: aws.String("arn:aws:gamelift:us-east-1::gamesession/fleet-one/x"), PlayerId: aws.String("p"),
		})
		return err
	}
	wantAs[*types.InvalidRequestException](t, "IR", create(messages.InvalidRequest))
	wantAs[*types.NotFoundException](t, "NF", create(messages.NotFound))
	wantAs[*types.InvalidFleetStatusException](t, "FS", create(messages.InvalidFleetStatus))
	wantAs[*types.FleetCapacityExceededException](t, "FC", create(messages.FleetCapacityExceeded))
	wantAs[*types.LimitExceededException](t, "LE", create(messages.LimitExceeded))
	wantAs[*types.IdempotentParameterMismatchException](t, "IM", create(messages.IdempotentMismatch))
	wantAs[*types.TerminalRoutingStrategyException](t, "TR", create(messages.TerminalRouting))
	wantAs[*types.ConflictException](t, "CF", create(messages.Conflict))
	wantAs[*types.InternalServiceException](t, "IS", create(messages.Internal))
	wantAs[*types.GameSessionFullException](t, "GF", seat(messages.GameSessionFull))
	wantAs[*types.InvalidGameSessionStatusException](t, "GS", seat(messages.InvalidGameSessionStatus))
	wantAs[*types.InvalidRequestException](t, "LE undeclared", seat(messages.LimitExceeded))

	_, err := sdk.GetPlayerConnectionDetails(t.Context(), &gamelift.GetPlayerConnectionDetailsInput{GameSessionId: aws.String("x"), PlayerIds: []string{"p"}})
	wantAs[*types.UnsupportedRegionException](t, "UR", err)
	_, err = sdk.CreateScript(t.Context(), &gamelift.CreateScriptInput{ZipFile: []byte("PK"), Tags: []types.Tag{{Key: aws.String("aws:x"), Value: aws.String("")}}})
	wantAs[*types.TaggingFailedException](t, "TF", err)
	var generic smithy.APIError
	if err := create(messages.Unavailable); !errors.As(err, &generic) || generic.ErrorCode() != "ServiceUnavailable" || generic.ErrorMessage() != "because" {
		t.Errorf("unavailable: %v", err)
	}
}

// The SDK retries after internal faults, and the retries create only one game session.
func TestSDKRetries(t *testing.T) {
	a := newAPI(t)
	attempts := 0
	a.fake.hook = func(context.Context) error {
		if attempts++; attempts < 3 {
			return messages.Errorf(messages.Internal, "try again")
		}
		return nil
	}
	sdk := a.sdk(t, "", func(o *gamelift.Options) {
		o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
			r.MaxBackoff = time.Millisecond
		})
		o.RetryMaxAttempts = 3
	})
	_, err := sdk.CreateGameSession(t.Context(), &gamelift.CreateGameSessionInput{FleetId: aws.String(fleetOne), MaximumPlayerSessionCount: aws.Int32(1)})
	if err != nil || attempts != 3 || len(a.fake.created) != 1 {
		t.Errorf("got %v after %d attempts, %d created", err, attempts, len(a.fake.created))
	}
}

// When a response is lost, the SDK's retry does not create a second game session.
func TestSDKRetryAfterLostResponse(t *testing.T) {
	a := newAPI(t)
	lose := &losing{next: awswiretest.Direct{Handler: a}}
	sdk := a.sdk(t, "", func(o *gamelift.Options) {
		o.HTTPClient = &http.Client{Transport: lose}
		o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) { r.MaxBackoff = time.Millisecond })
		o.RetryMaxAttempts = 3
	})
	_, err := sdk.CreateGameSession(t.Context(), &gamelift.CreateGameSessionInput{
		FleetId: aws.String(fleetOne), MaximumPlayerSessionCount: aws.Int32(1), Name: aws.String("n"),
	})
	if err != nil || lose.calls != 2 || len(a.fake.created) != 1 {
		t.Errorf("got %v after %d calls, %d created", err, lose.calls, len(a.fake.created))
	}
}

// losing is a transport that drops the first response of the server.
type losing struct {
	next  http.RoundTripper
	calls int
}

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if l.calls++; l.calls == 1 && err == nil {
		resp.Body.Close()
		return nil, &smithyhttp.RequestSendError{Err: errors.New("connection reset")}
	}
	return resp, err
}
