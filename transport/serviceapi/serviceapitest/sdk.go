package serviceapitest

import (
	"context"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
)

// SDKClient returns an AWS SDK client for endpoint, which uses RPC v2 CBOR. It makes one attempt per call:
// the SDK would otherwise retry errors that it regards as throttling. options are applied last. The
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
