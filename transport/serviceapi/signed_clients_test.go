package serviceapi

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go"

	"troupe/transport/awswire"
	"troupe/transport/awswire/awswiretest"
	"troupe/transport/serviceapi/serviceapitest"
)

const (
	testKey    = awswiretest.Key
	testSecret = awswiretest.Secret
)

// withKeys makes an API require signatures, by testKey or by awswiretest.TokenKey, which needs
// a session token.
func withKeys(o *Options) {
	v, err := awswire.NewSigV4(awswire.SigV4Options{
		Keys:    []awswire.Key{{ID: testKey, Secret: testSecret}, {ID: awswiretest.TokenKey, Secret: testSecret, SessionToken: awswiretest.Token}},
		Regions: []string{defaultRegion}, Now: o.Now,
	})
	if err != nil {
		panic(err) // a bug of the test
	}
	o.Authenticator = v.Authenticate
}

// as makes the SDK sign with a key.
func as(id, secret, token string) func(*gamelift.Options) {
	return func(o *gamelift.Options) {
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: token}, nil
		})
	}
}

// API-14.
func TestGoSDKSigns(t *testing.T) {
	a := newAPI(t, withKeys)
	for _, prefix := range []string{"", "/", "/prefix", "/a~b/c.d/"} {
		sdk := serviceapitest.SDKClient(t, a.url+prefix, as(testKey, testSecret, ""))
		created, err := sdk.CreateGameSession(t.Context(), &gamelift.CreateGameSessionInput{
			FleetId: aws.String(fleetOne), MaximumPlayerSessionCount: aws.Int32(2), GameSessionData: aws.String(strings.Repeat("\u2603", 100_000)),
		})
		if err != nil || created.GameSession.Status != types.GameSessionStatusActivating && created.GameSession.Status != types.GameSessionStatusActive {
			t.Errorf("%q: %v %v", prefix, created, err)
		}
	}
	if _, err := serviceapitest.SDKClient(t, a.url, as(awswiretest.TokenKey, testSecret, awswiretest.Token)).ListFleets(t.Context(), &gamelift.ListFleetsInput{}); err != nil {
		t.Errorf("with a session token: %v", err)
	}
}

// API-15.
func TestGoSDKIsRefused(t *testing.T) {
	a := newAPI(t, withKeys)
	for want, options := range map[string]func(*gamelift.Options){
		invalidSignature:   as(testKey, "another secret, as long", ""),
		unrecognizedClient: as("AKIDNOBODY", testSecret, ""),
		missingToken:       func(o *gamelift.Options) { o.Credentials = aws.AnonymousCredentials{} },
	} {
		_, err := serviceapitest.SDKClient(t, a.url, options).ListFleets(t.Context(), &gamelift.ListFleetsInput{})
		var refused smithy.APIError
		if !errors.As(err, &refused) || refused.ErrorCode() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// offBy is an API whose clock is wrong.
func offBy(t *testing.T, d time.Duration) *api {
	t.Helper()
	return newAPI(t, func(o *Options) { o.Now = func() time.Time { return time.Now().Add(d) } }, withKeys)
}

// API-18.
func TestGoSDKCorrectsItsClock(t *testing.T) {
	for _, off := range []time.Duration{-20 * time.Minute, 20 * time.Minute} {
		a := offBy(t, off)
		sdk := serviceapitest.SDKClient(t, a.url, as(testKey, testSecret, ""), func(o *gamelift.Options) {
			o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) { r.MaxBackoff = time.Millisecond })
			o.RetryMaxAttempts = 3
		})
		for range 2 {
			if _, err := sdk.ListFleets(t.Context(), &gamelift.ListFleetsInput{}); err != nil {
				t.Errorf("%v: %v", off, err)
			}
		}
		if n := a.server.options.Counters.APIErrors.Load(); n != 1 {
			t.Errorf("%v: %d attempts were refused, want the first", off, n)
		}
	}
}

// API-14, API-18.
func TestNodeSDKSigns(t *testing.T) {
	node := serviceapitest.InstallNode(t).WithKey(testKey, testSecret)
	for name, off := range map[string]time.Duration{"right clock": 0, "20 minutes behind": -20 * time.Minute, "20 minutes ahead": 20 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, func(t *testing.T, protocol string) {
				a := offBy(t, off)
				if got := node.Run(t, a.url+"/prefix", fleetOne, protocol); got.GameSession.Status != "ACTIVE" || got.Pages != 2 {
					t.Errorf("got %+v", got)
				}
			})
		})
	}
}

// cli runs the aws command, if it is installed.
func cli(t *testing.T, a *api, id, secret string, args ...string) (out string, err error) {
	t.Helper()
	name, err := exec.LookPath("aws")
	if err != nil {
		t.Skip("the aws command is not installed: it was not tried")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, append([]string{"gamelift", "--endpoint-url", a.url, "--region", defaultRegion, "--output", "json"}, args...)...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+id, "AWS_SECRET_ACCESS_KEY="+secret, "AWS_SESSION_TOKEN=", "AWS_PAGER=",
		"AWS_CONFIG_FILE="+home+"/none", "AWS_SHARED_CREDENTIALS_FILE="+home+"/none", "AWS_MAX_ATTEMPTS=1")
	cmd.WaitDelay = 5 * time.Second
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// API-14, API-15.
func TestCLISigns(t *testing.T) {
	a := newAPI(t, withKeys)
	out, err := cli(t, a, testKey, testSecret, "create-game-session", "--fleet-id", fleetOne, "--maximum-player-session-count", "2", "--name", "from the command line \u2603")
	var created struct {
		GameSession struct{ GameSessionId, Name string }
	}
	if err != nil || json.Unmarshal([]byte(out), &created) != nil || created.GameSession.Name != "from the command line \u2603" {
		t.Fatalf("got %v: %s", err, out)
	}
	out, err = cli(t, a, testKey, testSecret, "describe-game-sessions", "--game-session-id", created.GameSession.GameSessionId)
	if err != nil || !strings.Contains(out, created.GameSession.GameSessionId) {
		t.Errorf("got %v: %s", err, out)
	}
	if out, err = cli(t, a, testKey, "another secret, as long", "list-fleets"); err == nil || !strings.Contains(out, invalidSignature) {
		t.Errorf("wrong secret: got %v: %s", err, out)
	}
	if out, err = cli(t, a, testKey, testSecret, "list-fleets", "--no-sign-request"); err == nil || !strings.Contains(out, missingToken) {
		t.Errorf("not signed: got %v: %s", err, out)
	}
}
