package serviceapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/lazy"
	"troupe/transport/awswire"
)

// Options configures a Server. Every field is required unless its comment says otherwise.
type Options struct {
	// Backend executes the operations. The API has already checked lengths, patterns and all rules that need
	// no state. The backend gets plain ids instead of ARNs; only game sessions have an ARN as their id, in
	// the form that the host creates. An error other than a *messages.Error or a context error becomes an
	// internal fault.
	Backend messages.Doer
	// Region is the API region, which is also part of every ARN. It has letters, digits and hyphens only.
	Region string
	// Account is the account segment of ARNs, 12 digits.
	Account string
	// Authenticator identifies the caller. Default: awswire.Anyone (auth mode none).
	Authenticator awswire.Authenticator
	// LogURL returns a signed URL, of at most 1,024 characters, for the log of an ended game session. The
	// error is fs.ErrNotExist if there is no log, or if it has been deleted, or a *messages.Error. With shortIDs,
	// the log must not show any complete player session id. Nil means that there are no logs.
	LogURL func(ctx context.Context, g *messages.GameSession, shortIDs bool) (url string, err error)
	// ServerSDK is the URL of the Server SDK's endpoint, which RegisterCompute returns.
	ServerSDK string
	// UploadToken returns the session token with which a client of S3 uploads a build. Nil means that the host takes no
	// uploads.
	UploadToken func(id messages.BuildID) string
	// PageKey authenticates page tokens; it has 32 bytes. If a restarted host has the same key, earlier
	// tokens stay valid. Nil means a random key.
	PageKey []byte
	// Log gets a debug line for each request and an error line for each internal fault.
	Log zerolog.Logger
	// Now is the clock of Date headers and of the stored responses. The default is time.Now.
	Now func() time.Time
	// Counters counts APIRequests and APIErrors.
	Counters *counters.Set
}

var (
	regionForm  = lazy.Regexp(`\A[A-Za-z0-9-]{1,64}\z`)
	accountForm = lazy.Regexp(`\A[0-9]{12}\z`)
)

func (o Options) validate() error {
	switch {
	case o.Backend == nil:
		return errors.New("serviceapi: options: no backend")
	case o.PageKey != nil && len(o.PageKey) != len(pager{}.key):
		return fmt.Errorf("serviceapi: options: a page key of %d bytes", len(o.PageKey))
	case !regionForm().MatchString(o.Region):
		return fmt.Errorf("serviceapi: options: region %q: want 1 to 64 letters, digits and hyphens", o.Region)
	case !accountForm().MatchString(o.Account):
		return fmt.Errorf("serviceapi: options: account %q: want 12 digits", o.Account)
	}
	return nil
}
