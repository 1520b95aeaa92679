package awswire

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
)

// Options configures a Server. All fields are needed unless they say otherwise.
type Options struct {
	Operations []Operation // the operations of the service, each name once
	// Fault translates an error of a handler, by the errors that its operation declares;
	// nil for one that it does not know, which is then answered as an internal fault. Nil: it knows none.
	Fault func(declared string, err error) *Fault
	// Authenticator identifies callers. Default: Anyone.
	Authenticator Authenticator
	// WithReplayKey returns the context of a handler whose caller may send the same call again, with the same key. Nil: nobody wants the key.
	WithReplayKey func(ctx context.Context, key string) context.Context
	Log           zerolog.Logger   // gets one debug line per request and an error line per internal fault
	Now           func() time.Time // the clock of Date headers and of the replay memory. Default time.Now.
	// Requests and Errors count requests, and those that were answered with an error.
	Requests, Errors *atomic.Int64
	// Called gets each answered request: its operation, empty if unknown, how long it took, and its error's type, empty on success.
	Called func(operation string, took time.Duration, fault string)
}

// Server is a service as an http.Handler. It serves any number of requests at once, and holds nothing that needs closing.
type Server struct {
	options Options
	table   map[string]*Operation
	replays *replays
	bodies  atomic.Int64 // announced bytes of the bodies being read
}

// New returns a Server.
func New(o Options) *Server {
	if o.Authenticator == nil {
		o.Authenticator = Anyone
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{options: o, table: make(map[string]*Operation, len(o.Operations)), replays: newReplays(o.Now)}
	for i := range o.Operations {
		s.table[o.Operations[i].Name] = &o.Operations[i]
	}
	return s
}

const writeTimeout = 30 * time.Second // bounds how long a caller may take to read an answer

type answer struct {
	codec codec
	body  []byte
	fault *Fault // nil on success
}

// ServeHTTP answers one call. Every answer has a request id and the server's time. A handler's panic is logged, and an internal fault.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := s.options.Now()
	id := uuid.NewString()
	sel := detect(r)
	s.options.Requests.Add(1)

	a := s.answer(r, &sel, id)
	status := http.StatusOK
	if a.fault != nil {
		status = a.fault.Status
		s.options.Errors.Add(1)
		if a.fault.Cause != nil {
			s.options.Log.Error().Err(a.fault.Cause).Str("request_id", id).Str("operation", Clip(sel.operation)).
				Msg("api request failed")
		}
	}
	took := s.options.Now().Sub(start)
	s.called(&sel, took, a.fault)
	s.options.Log.Debug().Str("request_id", id).Str("operation", Clip(sel.operation)).Str("key", sel.caller.shortKey()).Int("status", status).
		Dur("took_ms", took).Msg("api request")
	a.write(w, id, start) // last, because a caller may count on what it knows to be done
}

// called reports a request. Names that are no operation are left out: they are the caller's, and without bounds.
func (s *Server) called(sel *selected, took time.Duration, fault *Fault) {
	operation, kind := "", ""
	if op := s.table[sel.operation]; op != nil {
		operation = op.Name
	}
	if fault != nil {
		kind = fault.Code
	}
	s.options.Called(operation, took, kind)
}

// answer runs a request through the steps of the package comment.
func (s *Server) answer(r *http.Request, sel *selected, id string) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			s.options.Log.Error().Str("request_id", id).Str("operation", Clip(sel.operation)).
				Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg("api handler panicked")
			a = answer{codec: sel.codec, fault: Internal(fmt.Errorf("panic: %v", p))}
		}
	}()
	body, declared, err := s.serve(r, sel)
	if err != nil {
		return answer{codec: sel.codec, fault: s.fault(declared, err)}
	}
	return answer{codec: sel.codec, body: body}
}

// serve returns the body of a successful answer, and the errors that the operation declares.
func (s *Server) serve(r *http.Request, sel *selected) (out []byte, declared string, err error) {
	if r.Method != http.MethodPost {
		return nil, "", &Fault{Status: http.StatusMethodNotAllowed, Code: unknownOperation, Text: "the service API takes POST only"}
	}
	op, known := s.table[sel.operation]
	most := int64(bodyMax)
	if known {
		most = op.BodyMax
	}
	body, caller, err := s.received(r, most)
	if err != nil {
		return nil, "", err
	}
	sel.caller = caller
	switch {
	case sel.operation == "":
		return nil, "", BadRequest(unknownOperation, "the request names no operation: it needs the header X-Amz-Target, "+
			"or smithy-protocol and a path that ends with service/GameLift/operation/ and the name")
	case !known:
		return nil, "", BadRequest(unknownOperation, "the service has no operation "+strconv.Quote(Clip(sel.operation)))
	}
	if err := caller.admit(op.Name, s.options.Now()); err != nil {
		return nil, "", err
	}
	r = r.WithContext(context.WithValue(r.Context(), callerOf{}, caller))
	out, err = s.once(r, op, sel.codec, caller, body)
	return out, op.Declared, err
}

// received authenticates the caller and reads the body. A caller refused for its headers costs no memory for a body.
func (s *Server) received(r *http.Request, most int64) ([]byte, Caller, error) {
	if r.ContentLength > most {
		return nil, Caller{}, tooLarge(r, most)
	}
	proof, err := s.options.Authenticator(r)
	if err != nil {
		drain(r)
		return nil, Caller{}, err
	}
	size := most // of a body of unknown length
	if r.ContentLength >= 0 {
		size = r.ContentLength
	}
	if size <= bodySmall {
		size = 0
	}
	if s.bodies.Add(size) > bodiesMax {
		s.bodies.Add(-size)
		drain(r)
		return nil, Caller{}, Throttled("the host reads as many request bodies as it can")
	}
	body, err := readBody(r, most)
	s.bodies.Add(-size)
	if err != nil {
		return nil, Caller{}, err
	}
	caller, err := proof(body)
	if err != nil {
		return nil, Caller{}, err
	}
	return body, caller, nil
}

func (a answer) write(w http.ResponseWriter, id string, now time.Time) {
	status, body := http.StatusOK, a.body
	h := w.Header()
	if a.fault != nil {
		status, body = a.fault.Status, a.codec.encodeError(a.fault.Code, a.fault.Text)
		h.Set("X-Amzn-Errortype", a.fault.Code)
		if status == http.StatusMethodNotAllowed {
			h.Set("Allow", http.MethodPost)
		}
	}
	if a.codec == (cborCodec{}) { // without it the Go client hides the real error
		h.Set(headerProtocol, cborProtocol)
	}
	h.Set("Content-Type", a.codec.contentType())
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Amzn-Requestid", id)
	h.Set("Date", now.UTC().Format(http.TimeFormat)) // clients correct their clocks by it
	h.Set("Cache-Control", "no-store")
	control := http.NewResponseController(w) // its errors do not matter
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the caller is gone
	_ = control.Flush()
	_ = control.SetWriteDeadline(time.Time{}) // the next answer on the connection may be a page that takes longer
}
