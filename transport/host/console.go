package host

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"troupe/transport"
	"troupe/transport/awswire"
	"troupe/transport/console"
	"troupe/transport/ops"
)

// newConsole makes the operator's pages at / and below /admin/v1/.
func (h *Host) newConsole(o Options, auth awswire.Authenticator, proxies transport.Proxies, logs *ops.Logs) *console.Console {
	return console.New(console.Options{
		Backend: h.system, Counters: h.count, Events: h.events, Drains: h, Operations: operations{h}, Access: o.Config.guard(auth).console(o.Config.Region, proxies),
		Log: o.Log, Version: o.Version, GameURLs: func() []string { return h.gameURLs }, Logs: logs.Short,
	})
}

// console returns who may use the console: whoever may see the pages below /debug/, and browsers that log in with an access key that may
// call every operation. A key that may call all that read looks, and changes nothing.
func (g guard) console(region string, proxies transport.Proxies) console.Access {
	a := console.Access{Trusts: g.trusts, Signed: g.role, Refusal: g.refusal(), Proxies: proxies}
	if g.keys {
		a.Refusal = "sign with an access key that may call every operation or, to look, every one that reads"
		a.Verify = func(id, secret, sessionToken string) console.Role {
			_, role, _ := g.role(signedWith(id, secret, sessionToken, region))
			return role
		}
	}
	return a
}

// role returns the key that has signed a request, empty if none has, and what it may do in the console; with Nobody also what is wrong.
func (g guard) role(r *http.Request) (id string, role console.Role, wrong string) {
	switch caller, err := g.verified(r); {
	case err != nil:
		return "", console.Nobody, err.Error()
	case caller.Operator():
		return caller.AccessKey, console.Operator, ""
	case caller.Reader():
		return caller.AccessKey, console.Reader, ""
	default:
		return caller.AccessKey, console.Nobody, "the access key " + caller.AccessKey + " may not look: it must allow every operation that reads " +
			"(gamelift:Describe*, gamelift:List*, gamelift:Search* and gamelift:GetGameSessionLogUrl)"
	}
}

// signedWith returns a request without a body that is signed with a key, so that one check of keys is enough.
func signedWith(id, secret, sessionToken, region string) *http.Request {
	const noBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	r, err := http.NewRequest(http.MethodGet, "http://localhost/", nil)
	if err != nil {
		panic(err) // it is a constant
	}
	key := aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: sessionToken}
	_ = v4.NewSigner().SignHTTP(context.Background(), key, r, noBody, "gamelift", region, time.Now()) // unsigned, it is refused
	return r
}
