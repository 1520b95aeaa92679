package serversdk

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// FrameMax is the maximum size of a request in bytes. A larger one closes the connection with 1009.
	FrameMax = 1 << 20
	// requestIDMax limits the id of a request, which is kept for repetitions. SDKs send 32 to 36 characters.
	requestIDMax = 128
)

// StatusCodes of responses (server-sdk.md 13). SDKs map every other 4xx to a bad request.
const (
	StatusOK         = 200
	StatusBadRequest = 400
	StatusForbidden  = 403
	StatusNotFound   = 404
	StatusConflict   = 409
	StatusGone       = 410
	StatusTooMany    = 429
	StatusInternal   = 500
	StatusDraining   = 503
)

// Request is a request of a process.
type Request struct {
	Action, ID string
	// Fields has the members of the action: a value of the type of that name with the suffix Fields, or nil if the action
	// has none.
	Fields any
}

// Refusal is the answer to a request, or to a handshake, that is refused.
type Refusal struct {
	Action, ID string // as far as they could be read; empty for a handshake
	Status     int
	Text       string // one sentence for the developer of the game; without secrets
}

// Error implements error.
func (r *Refusal) Error() string { return r.Text }

// head has the members that each request and each response has.
type head struct {
	Action     string
	RequestId  string //nolint:revive // the name on the wire
	StatusCode int    `json:",omitzero"`
}

// lenient reads a member of any type as the value that the other side meant, or as absent.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Parse reads a frame. The error is a *Refusal: 400 for anything that is not a request of the Server SDK. Unknown
// members, null and another order of the members are accepted.
func Parse(frame []byte) (Request, *Refusal) {
	var h head
	if len(frame) > FrameMax {
		return Request{}, &Refusal{Status: StatusBadRequest, Text: fmt.Sprintf("A message may have at most %d bytes.", FrameMax)}
	}
	err := json.Unmarshal(frame, &h, lenient)
	if len(h.RequestId) > requestIDMax || len(h.Action) > requestIDMax {
		return Request{}, &Refusal{Status: StatusBadRequest, Text: fmt.Sprintf("Action and RequestId may have at most %d characters.", requestIDMax)}
	}
	refuse := func(format string, args ...any) (Request, *Refusal) {
		return Request{}, &Refusal{Action: h.Action, ID: h.RequestId, Status: StatusBadRequest, Text: fmt.Sprintf(format, args...)}
	}
	switch {
	case err != nil:
		return refuse("The message is not a JSON object with Action and RequestId.")
	case h.Action == "":
		return refuse("The message has no Action.")
	case h.RequestId == "":
		return refuse("The message has no RequestId.")
	}
	read, known := actions[h.Action]
	if !known {
		return refuse("Unknown action")
	}
	fields, err := read(frame)
	if err != nil {
		return refuse("%v.", err)
	}
	return Request{Action: h.Action, ID: h.RequestId, Fields: fields}, nil
}

// Answer returns the response to a request. result is a struct with the members of the result, or nil if the action has
// none.
func (r *Request) Answer(result any) []byte {
	return frame(head{r.Action, r.ID, StatusOK}, result)
}

// Frame returns the response to a request that is refused.
func (r *Refusal) Frame() []byte {
	return frame(head{r.Action, r.ID, r.Status}, struct{ ErrorMessage string }{r.Text})
}

// Push returns a message that the host sends without being asked. It has no RequestId, because SDKs take a message with
// one for a response. fields is one of the types with the suffix Push.
func Push(action string, fields any) []byte {
	return frame(struct{ Action string }{action}, fields)
}

// frame joins the members of two structs in one object. SDKs read results at top level.
func frame(first, second any) []byte {
	text := marshal(first)
	if second == nil {
		return text
	}
	rest := marshal(second)
	if len(rest) > len("{}") {
		text = append(text[:len(text)-1], ',')
		text = append(text, rest[1:]...)
	}
	return text
}

// marshal encodes a struct of plain values. Nil slices and maps are [] and {}: some SDKs cannot read null.
func marshal(v any) []byte {
	text, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("serversdk: " + err.Error()) // a bug: the types have nothing that cannot be encoded
	}
	return text
}
