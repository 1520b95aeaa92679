package host

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
)

// listener records all response bytes that a client receives.
type listener struct {
	http.RoundTripper
	heard bytes.Buffer
}

func (l *listener) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := l.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(a.Body)
	_ = a.Body.Close()
	l.heard.Write(body)
	a.Body = io.NopCloser(bytes.NewReader(body))
	return a, err
}

// TestKeysThatMakeNoPlayerSessionsSeeShortIDs: whoever knows a player session id can log in as that player.
// So keys that cannot create player sessions see a shortened id, which only tells players apart.
func TestKeysThatMakeNoPlayerSessionsSeeShortIDs(t *testing.T) {
	synctest.Test(t, keysThatMakeNoPlayerSessionsSeeShortIDs)
}

func keysThatMakeNoPlayerSessionsSeeShortIDs(t *testing.T) {
	keys := []APIKey{
		{ID: "KEYALL", Secret: guardSecret},
		{ID: "KEYLOOK", Secret: guardSecret, Allow: []string{"gamelift:Describe*", "gamelift:List*", "gamelift:Search*", "gamelift:StopGameSessionPlacement"}},
		{ID: "KEYMATCH", Secret: guardSecret, Allow: []string{"gamelift:Describe*", "gamelift:StartGameSessionPlacement"}},
		{ID: "KEYSEAT", Secret: guardSecret, Allow: []string{"gamelift:DescribePlayerSessions", "gamelift:DescribeGameSessionPlacement", "gamelift:CreatePlayerSession"}},
	}
	c := config(t)
	c.API.Keys = keys
	h := begin(t, Options{Config: c})
	ctx := t.Context()
	as := func(key string) (*gamelift.Client, *listener) {
		l := &listener{RoundTripper: h.web}
		return gamelift.New(gamelift.Options{
			Region: "us-east-1", BaseEndpoint: aws.String(h.Addrs().APIURL), HTTPClient: &http.Client{Transport: l}, RetryMaxAttempts: 1,
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: key, SecretAccessKey: guardSecret}, nil
			}),
		}), l
	}
	all, _ := as("KEYALL")
	players := []string{"ann", "bob", "cem", "dan", "eve"}
	placement := &gamelift.StartGameSessionPlacementInput{
		PlacementId: aws.String("p1"), GameSessionQueueName: aws.String("queue-dev"), MaximumPlayerSessionCount: aws.Int32(9),
	}
	for _, p := range players {
		placement.DesiredPlayerSessions = append(placement.DesiredPlayerSessions, types.DesiredPlayerSession{PlayerId: aws.String(p)})
	}
	if _, err := all.StartGameSessionPlacement(ctx, placement); err != nil {
		t.Fatal(err)
	}
	var ids []string
	synctest.Wait()
	out, err := all.DescribeGameSessionPlacement(ctx, &gamelift.DescribeGameSessionPlacementInput{PlacementId: aws.String("p1")})
	if err != nil || len(out.GameSessionPlacement.PlacedPlayerSessions) != len(players) {
		t.Fatal(out, err)
	}
	for _, p := range out.GameSessionPlacement.PlacedPlayerSessions {
		ids = append(ids, *p.PlayerSessionId)
	}
	game := out.GameSessionPlacement.GameSessionId
	for key, full := range map[string]bool{"KEYALL": true, "KEYLOOK": false, "KEYMATCH": true, "KEYSEAT": true} {
		api, l := as(key)
		var shown []string
		pages := gamelift.NewDescribePlayerSessionsPaginator(api, &gamelift.DescribePlayerSessionsInput{GameSessionId: game, Limit: aws.Int32(2)})
		for pages.HasMorePages() {
			out, err := pages.NextPage(ctx)
			if err != nil {
				t.Fatal(key, err)
			}
			for _, p := range out.PlayerSessions {
				shown = append(shown, *p.PlayerSessionId)
			}
			l.heard.WriteString(decoded(out.NextToken))
		}
		if _, err := api.DescribePlayerSessions(ctx, &gamelift.DescribePlayerSessionsInput{PlayerId: aws.String("ann")}); err != nil {
			t.Error(key, err)
		}
		out, err := api.DescribeGameSessionPlacement(ctx, &gamelift.DescribeGameSessionPlacementInput{PlacementId: aws.String("p1")})
		if err != nil {
			t.Fatal(key, err)
		}
		for _, p := range out.GameSessionPlacement.PlacedPlayerSessions {
			shown = append(shown, *p.PlayerSessionId)
		}
		// the placement is FULFILLED, so this returns an error, which must not contain an id
		_, _ = api.StopGameSessionPlacement(ctx, &gamelift.StopGameSessionPlacementInput{PlacementId: aws.String("p1")})
		want := append(slices.Clone(ids), ids...)
		for i, id := range want {
			if !full {
				want[i] = "psess-" + messages.PlayerSessionID(id).Short()
			}
		}
		slices.Sort(shown)
		slices.Sort(want)
		if !slices.Equal(shown, want) {
			t.Errorf("%s sees %q, want %q", key, shown, want)
		}
		for _, id := range ids {
			if secret := id[len("psess-")+8:]; !full && strings.Contains(l.heard.String(), secret) {
				t.Errorf("%s is told %s somewhere in\n%q", key, secret, l.heard.String())
			}
		}
	}
}

// decoded decodes a page token, as a curious caller could.
func decoded(token *string) string {
	raw, _ := base64.RawURLEncoding.DecodeString(aws.ToString(token))
	return string(raw)
}
