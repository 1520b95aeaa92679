package serviceapi

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// Server is the service API as an http.Handler. Build it with New; it may serve
// any number of requests at once and holds nothing that needs closing.
type Server struct {
	options Options
	table   map[string]*operation
	pager   *pager
	replays *replays
	arns    arns
	bodies  atomic.Int64 // bytes that are promised of bodies being read
}

// New checks the options and returns a Server.
func New(o Options) (*Server, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Server{
		options: o,
		pager:   newPager(o.PageKey),
		replays: newReplays(o.Now),
		arns:    arns{region: o.Region, account: o.Account},
	}
	s.table = s.operations()
	return s, nil
}

// writeTimeout bounds how long a caller may take to read an answer.
const writeTimeout = 30 * time.Second

// answer is a response before it is written.
type answer struct {
	codec codec
	body  []byte
	fault *fault // nil on success
}

// ServeHTTP answers one call. Every answer, refusals included, has a request id
// and the server's time; a panic of a handler is logged and answered as an
// internal fault.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := s.options.Now()
	id := uuid.NewString()
	sel := detect(r)
	s.options.Counters.APIRequests.Add(1)

	a := s.answer(r, &sel, id)
	status := http.StatusOK
	if a.fault != nil {
		status = a.fault.status
		s.options.Counters.APIErrors.Add(1)
		if a.fault.cause != nil {
			s.options.Log.Error().Err(a.fault.cause).Str("request_id", id).Str("operation", clip(sel.operation)).
				Msg("api request failed")
		}
	}
	s.options.Log.Debug().Str("request_id", id).Str("operation", clip(sel.operation)).Str("key", sel.caller.shortKey()).Int("status", status).
		Dur("took_ms", s.options.Now().Sub(start)).Msg("api request")
	a.write(w, id, start) // last, because a caller may count on what it knows to be done
}

// answer runs a request through the steps of the package comment.
func (s *Server) answer(r *http.Request, sel *selected, id string) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			s.options.Log.Error().Str("request_id", id).Str("operation", clip(sel.operation)).
				Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg("api handler panicked")
			a = answer{codec: sel.codec, fault: internal(fmt.Errorf("panic: %v", p))}
		}
	}()
	body, declared, err := s.serve(r, sel)
	if err != nil {
		return answer{codec: sel.codec, fault: toFault(declared, err)}
	}
	return answer{codec: sel.codec, body: body}
}

// serve returns the body of a successful answer, and the errors that the
// operation at hand declares.
func (s *Server) serve(r *http.Request, sel *selected) (out []byte, declared string, err error) {
	if r.Method != http.MethodPost {
		return nil, "", &fault{status: http.StatusMethodNotAllowed, code: unknownOperation, text: "the service API takes POST only"}
	}
	body, caller, err := s.received(r, bodyCap(sel.operation))
	if err != nil {
		return nil, "", err
	}
	sel.caller = caller
	op, known := s.table[sel.operation]
	switch {
	case sel.operation == "":
		return nil, "", badRequest(unknownOperation, "the request names no operation: it needs the header X-Amz-Target, "+
			"or smithy-protocol and a path that ends with service/GameLift/operation/ and the name")
	case !known:
		return nil, "", badRequest(unknownOperation, "the service has no operation "+strconv.Quote(clip(sel.operation)))
	}
	if err := caller.admit(op.name, s.options.Now()); err != nil {
		return nil, "", err
	}
	r = r.WithContext(withIDsFor(r.Context(), caller))
	out, err = s.once(r, op, sel.codec, caller, body)
	return out, op.declared, err
}

// received reads the body of a caller who is known by then. One whose headers say
// enough is refused without memory for a body.
func (s *Server) received(r *http.Request, most int64) ([]byte, Caller, error) {
	if r.ContentLength > most {
		return nil, Caller{}, tooLarge(r, most)
	}
	proof, err := s.options.Authenticator(r)
	if err != nil {
		drain(r)
		return nil, Caller{}, authFault(err)
	}
	size := most // of a body that does not tell
	if r.ContentLength >= 0 {
		size = r.ContentLength
	}
	if size <= bodySmall {
		size = 0
	}
	if s.bodies.Add(size) > bodiesMax {
		s.bodies.Add(-size)
		drain(r)
		return nil, Caller{}, badRequest(throttled, "the host reads as many request bodies as it can")
	}
	body, err := readBody(r, most)
	s.bodies.Add(-size)
	if err != nil {
		return nil, Caller{}, err
	}
	caller, err := proof(body)
	if err != nil {
		return nil, Caller{}, authFault(err)
	}
	return body, caller, nil
}

func (a answer) write(w http.ResponseWriter, id string, now time.Time) {
	status, body := http.StatusOK, a.body
	h := w.Header()
	if a.fault != nil {
		status, body = a.fault.status, a.codec.encodeError(a.fault.code, a.fault.text)
		h.Set("X-Amzn-Errortype", a.fault.code)
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
	control := http.NewResponseController(w) // what it cannot do, it need not
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller is gone: nobody is left to tell
	_ = control.Flush()
	_ = control.SetWriteDeadline(time.Time{}) // the next answer on the connection may be a page that takes longer
}
