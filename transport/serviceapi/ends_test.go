package serviceapi

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/rs/zerolog"

	"troupe/messages"
)

const noGame = "arn:aws:gamelift:us-east-1::gamesession/fleet-one/none"

// API-32.
func TestTerminateGameSessionTakesBothModes(t *testing.T) {
	a := newAPI(t)
	sdk := a.sdk(t, "")
	game := a.newGameSession(t, 2)
	terminate := func(id string, mode types.TerminationMode) (*gamelift.TerminateGameSessionOutput, error) {
		return sdk.TerminateGameSession(t.Context(), &gamelift.TerminateGameSessionInput{GameSessionId: aws.String(id), TerminationMode: mode})
	}
	_, err := terminate(noGame, types.TerminationModeForceTerminate)
	wantAs[*types.NotFoundException](t, "unknown", err)
	_, err = terminate("arn:aws:gamelift:eu-west-1::gamesession/fleet-one/none", types.TerminationModeForceTerminate)
	wantAs[*types.NotFoundException](t, "another region", err)
	_, err = terminate(game, "NOW")
	wantAs[*types.InvalidRequestException](t, "no such mode", err)
	if r := a.call(t, "json", "TerminateGameSession", members{"GameSessionId": game}); r.Status != 400 || !strings.Contains(string(r.Raw), "TerminationMode is required") {
		t.Errorf("without a mode: %d %s", r.Status, r.Raw)
	}
	out, err := terminate(strings.Replace(game, "::gamesession", ":000000000000:gamesession", 1), types.TerminationModeTriggerOnProcessTerminate)
	if err != nil || out.GameSession.Status != types.GameSessionStatusTerminating || *out.GameSession.GameSessionId != game {
		t.Fatalf("%+v, %v", out, err)
	}
	described, err := sdk.DescribeGameSessions(t.Context(), &gamelift.DescribeGameSessionsInput{GameSessionId: aws.String(game)})
	if err != nil || described.GameSessions[0].StatusReason != types.GameSessionStatusReasonTriggeredOnProcessTerminate {
		t.Errorf("%+v, %v", described, err)
	}
	_, err = terminate(game, types.TerminationModeForceTerminate)
	wantAs[*types.InvalidGameSessionStatusException](t, "ended", err)
}

func TestGetGameSessionLogUrl(t *testing.T) {
	var length atomic.Int64
	a := newAPI(t, func(o *Options) {
		o.LogURL = func(*messages.GameSession, bool) (string, bool) {
			return strings.Repeat("x", int(length.Load())), length.Load() > 0
		}
		o.Log = zerolog.Nop()
	})
	sdk := a.sdk(t, "", func(o *gamelift.Options) { o.RetryMaxAttempts = 1 })
	game := a.newGameSession(t, 2)
	get := func(id string) (string, error) {
		out, err := sdk.GetGameSessionLogUrl(t.Context(), &gamelift.GetGameSessionLogUrlInput{GameSessionId: aws.String(id)})
		if err != nil {
			return "", err
		}
		return *out.PreSignedUrl, nil
	}
	_, err := get(game)
	wantAs[*types.InvalidRequestException](t, "it runs", err)
	_, err = get(noGame)
	wantAs[*types.NotFoundException](t, "unknown", err)
	if _, err := sdk.TerminateGameSession(t.Context(), &gamelift.TerminateGameSessionInput{
		GameSessionId: aws.String(game), TerminationMode: types.TerminationModeForceTerminate,
	}); err != nil {
		t.Fatal(err)
	}
	_, err = get(game)
	wantAs[*types.NotFoundException](t, "no log", err)
	for n, ok := range map[int]bool{logURLMax: true, logURLMax + 1: false} {
		length.Store(int64(n))
		if url, err := get(game); (err == nil) != ok || ok && len(url) != n {
			t.Errorf("%d characters: %q, %v", n, url, err)
		}
	}
}
