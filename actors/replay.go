package actors

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"reflect"
	"strings"

	"github.com/google/uuid"

	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/peer"
)

// attempt identifies a request among all requests of all calls. One call may consist of several requests.
type attempt struct {
	key  string // the call's replay key
	kind reflect.Type
}

// changeVerbs are the first words of the names of requests that change something on behalf of a caller of the service
// API. Repeating one of the others is harmless.
var changeVerbs = []string{"Create", "Update", "Delete", "Add", "Remove", "Start", "Stop", "Accept", "Terminate"}

// attemptOf returns the attempt to which a request belongs. ok is false if the request may be repeated without harm, or
// does not belong to a call that can be repeated.
func attemptOf(ctx context.Context, q messages.Request) (a attempt, ok bool) {
	a = attempt{messages.ReplayKey(ctx), reflect.TypeOf(q)}
	if a.key != "" {
		for _, verb := range changeVerbs {
			if strings.HasPrefix(a.kind.Name(), verb) {
				return a, true
			}
		}
	}
	return a, false
}

// once is do for a node of a cluster. A request that changes something is done once per replay key, at whichever nodes
// its attempts arrive: all attempts are forwarded to the owner of what is changed, which keeps the answer. The request
// continues if its caller disconnects.
func (s *System) once(ctx context.Context, q messages.Request) (any, error) {
	a, ok := attemptOf(ctx, q)
	if !ok {
		return s.do(ctx, q)
	}
	prepared, err := s.prepare(ctx, q)
	if err != nil {
		return nil, err
	}
	for {
		body, wait, done := s.replays.Begin(a)
		if done {
			return peer.DecodeAnswer(q, body)
		}
		if wait == nil {
			break
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return stage.Await(ctx, func(reply func(any, error)) {
		s.Send(prepared, func(answer any, err error) {
			var body []byte
			if err == nil {
				body = peer.EncodeAnswer(q, answer, nil)
			}
			s.replays.End(a, body, err == nil)
			reply(answer, err)
		})
	})
}

// callID returns a UUID for the call of ctx. It is the same at all nodes for all attempts of the call. It is "" if the
// call cannot be repeated.
func (c *Cluster) callID(ctx context.Context) string {
	key := messages.ReplayKey(ctx)
	if key == "" {
		return ""
	}
	mac := hmac.New(sha256.New, c.ids)
	mac.Write([]byte(key))
	id := uuid.UUID(mac.Sum(nil)[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // version 8 (RFC 9562 5.8)
	return id.String()
}
