package serviceapi

import (
	"context"
	"errors"
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
)

const (
	testKey    = awswiretest.Key
	testSecret = awswiretest.Secret
)

// withKeys makes an API require signatures by testKey, or by awswiretest.TokenKey with a session token.
func withKeys(o *Options) {
	v, err := awswire.NewSigV4(awswire.SigV4Options{
		Keys:    []awswire.Key{{ID: testKey, Secret: testSecret}, {ID: awswiretest.TokenKey, Secret: testSecret, SessionToken: awswiretest.Token}},
		Regions: []string{defaultRegion}, Now: o.Now,
	})
	if err != nil {
		panic(err) // an error in the test
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
		sdk := a.sdk(t, prefix, as(testKey, testSecret, ""))
		created, err := sdk.CreateGameSession(t.Context(), &gamelift.CreateGameSessionInput{
			FleetId: aws.String(fleetOne), MaximumPlayerSessionCount: aws.Int32(2), GameSessionData: aws.String(strings.Repeat("\u2603", 100_000)),
		})
		if err != nil || created.GameSession.Status != types.GameSessionStatusActivating && created.GameSession.Status != types.GameSessionStatusActive {
			t.Errorf("%q: %v %v", prefix, created, err)
		}
	}
	if _, err := a.sdk(t, "", as(awswiretest.TokenKey, testSecret, awswiretest.Token)).ListFleets(t.Context(), &gamelift.ListFleetsInput{}); err != nil {
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
		_, err := a.sdk(t, "", options).ListFleets(t.Context(), &gamelift.ListFleetsInput{})
		var refused smithy.APIError
		if !errors.As(err, &refused) || refused.ErrorCode() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// offBy sets an API's clock off by d.
func offBy(d time.Duration) func(*Options) {
	return func(o *Options) { o.Now = func() time.Time { return time.Now().Add(d) } }
}

// API-18.
func TestGoSDKCorrectsItsClock(t *testing.T) {
	for _, off := range []time.Duration{-20 * time.Minute, 20 * time.Minute} {
		a := newAPI(t, offBy(off), withKeys)
		sdk := a.sdk(t, "", as(testKey, testSecret, ""), func(o *gamelift.Options) {
			o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) { r.MaxBackoff = time.Millisecond })
			o.RetryMaxAttempts = 3
		})
		for range 2 {
			if _, err := sdk.ListFleets(t.Context(), &gamelift.ListFleetsInput{}); err != nil {
				t.Errorf("%v: %v", off, err)
			}
		}
		if n := a.options.Counters.APIErrors.Load(); n != 1 {
			t.Errorf("%v: %d attempts were refused, want the first", off, n)
		}
	}
}
