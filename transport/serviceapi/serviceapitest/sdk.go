package serviceapitest

import (
	"context"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
)

// SDKClient returns the AWS SDK's client, which speaks RPC v2 CBOR, pointed at a
// base address. It makes one attempt per call, so that refusals which the SDK
// takes for throttling come back at once; options are applied last. Its
// connections are closed when the test ends.
func SDKClient(tb testing.TB, endpoint string, options ...func(*gamelift.Options)) *gamelift.Client {
	tb.Helper()
	transport := &http.Transport{}
	tb.Cleanup(transport.CloseIdleConnections)
	return gamelift.New(gamelift.Options{
		Region:           "us-east-1",
		BaseEndpoint:     aws.String(endpoint),
		HTTPClient:       &http.Client{Transport: transport},
		RetryMaxAttempts: 1,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret"}, nil
		}),
	}, options...)
}
