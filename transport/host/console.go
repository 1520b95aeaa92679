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

// newConsole creates the operator's pages at / and below /admin/v1/.
func (h *Host) newConsole(o Options, auth awswire.Authenticator, proxies transport.Proxies, logs *ops.Logs) *console.Console {
	return console.New(console.Options{
		Backend: h.Doer(), Cluster: h.pages(), Counters: h.count, Events: h.events, Drains: h, Operations: operations{h}, Access: o.Config.guard(auth).console(o.Config.Region, proxies),
		Log: o.Log, Version: o.Version, GameURLs: func() []string { return h.gameURLs }, Logs: logs.Short,
	})
}

// console returns the access rules of the console. Callers that may see the pages below /debug/ are allowed.
// Browsers can also log in with an access key. A key that allows every operation makes an Operator; a key
// that allows only all reading operations may look but change nothing.
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

// role returns the id of the access key that signed a request, and its role in the console. The id is empty
// if the request is not signed. With Nobody, wrong is the reason.
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

// signedWith returns a request without a body, signed with a key. A login is thus verified by the same check
// as a signed request.
func signedWith(id, secret, sessionToken, region string) *http.Request {
	const noBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	r, err := http.NewRequest(http.MethodGet, "http://localhost/", nil)
	if err != nil {
		panic(err) // the arguments are constants
	}
	key := aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: sessionToken}
	// on an error the request stays unsigned, and is refused
	_ = v4.NewSigner().SignHTTP(context.Background(), key, r, noBody, "gamelift", region, time.Now())
	return r
}
