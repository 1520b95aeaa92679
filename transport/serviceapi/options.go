package serviceapi

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/awswire"
)

// Options configures a Server. All fields are needed unless they say otherwise.
type Options struct {
	// Backend carries out the operations. The API has checked lengths, patterns and all rules that need no state; ids reach it
	// without the ARN around them, those of game sessions as ARNs in the form that the host gives them. An error that is neither a
	// *messages.Error nor that of a context is answered as an internal fault.
	Backend messages.Doer
	// Region is the API region, which is also part of every ARN; letters, digits and hyphens.
	Region string
	// Account is the account segment of ARNs, 12 digits.
	Account string
	// Authenticator identifies the caller. Default: awswire.Anyone (auth mode none).
	Authenticator awswire.Authenticator
	// LogURL signs a URL, of at most 1,024 characters, for the log of an ended game session.
	// ok is false if there is no log, or none any more. With shortIDs the log must show no
	// player session id in full. Nil: there are no logs.
	LogURL func(g *messages.GameSession, shortIDs bool) (url string, ok bool)
	// PageKey authenticates page tokens: with the same key they stay valid after a restart of
	// the host. 32 bytes. Nil: a random one.
	PageKey []byte
	// Log gets one debug line per request and an error line per internal fault.
	Log zerolog.Logger
	// Now is the clock of Date headers and of the replay memory. Default time.Now.
	Now func() time.Time
	// Counters takes APIRequests and APIErrors.
	Counters *counters.Set
}

var (
	regionForm  = regexp.MustCompile(`\A[A-Za-z0-9-]{1,64}\z`)
	accountForm = regexp.MustCompile(`\A[0-9]{12}\z`)
)

func (o Options) validate() error {
	switch {
	case o.Backend == nil:
		return errors.New("serviceapi: options: no backend")
	case o.PageKey != nil && len(o.PageKey) != len(pager{}.key):
		return fmt.Errorf("serviceapi: options: a page key of %d bytes", len(o.PageKey))
	case !regionForm.MatchString(o.Region):
		return fmt.Errorf("serviceapi: options: region %q: want 1 to 64 letters, digits and hyphens", o.Region)
	case !accountForm.MatchString(o.Account):
		return fmt.Errorf("serviceapi: options: account %q: want 12 digits", o.Account)
	}
	return nil
}
