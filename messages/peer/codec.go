package peer

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"troupe/messages"
	"troupe/messages/coord"
)

// Encode returns the name and the body of a request. Decode makes an equal request from them, with two exceptions: a
// pointer to a nil list becomes a pointer to an empty list, and times lose their monotonic clock. The error is an
// Internal *messages.Error. It means that the request is not in the table or contains a text that is not UTF-8.
func Encode(q messages.Request) (name string, body []byte, err error) {
	k, err := kindOf(q)
	if err != nil {
		return "", nil, err
	}
	name = k.typ.Name()
	if body, err = json.Marshal(q, out); err != nil {
		return name, nil, messages.Errorf(messages.Internal, "%s cannot be encoded: %v", name, err)
	}
	return name, body, nil
}

// Decode returns the request that was given to Encode. The error is an Internal *messages.Error.
func Decode(name string, body []byte) (messages.Request, error) {
	k := kinds[name]
	if k == nil {
		return nil, messages.Errorf(messages.Internal, "this node does not know the request %.64q: it runs another version", name)
	}
	return k.request(body)
}

// answer is an answer on the wire. If both fields are nil, the answer is the zero value.
type answer[A any] struct {
	Answer A
	Error  *messages.Error
}

// EncodeAnswer encodes the result of a request. An error that is not a *messages.Error becomes an Internal error with
// the same text. The result also becomes an Internal error if a has the wrong type for the request or cannot be
// encoded.
func EncodeAnswer(q messages.Request, a any, err error) []byte {
	if err != nil {
		return EncodeError(err)
	}
	k, err := kindOf(q)
	if err != nil {
		return EncodeError(err)
	}
	body, err := k.encode(a)
	if err != nil {
		return EncodeError(err)
	}
	return body
}

// EncodeError encodes the error of a request that failed or could not be decoded.
func EncodeError(err error) []byte {
	var refusal *messages.Error
	if !errors.As(err, &refusal) {
		refusal = messages.Errorf(messages.Internal, "%v", err)
	}
	body, err := json.Marshal(answer[any]{Error: refusal}, out, jsontext.AllowInvalidUTF8(true))
	if err != nil { // a number and a text always encode
		panic(err)
	}
	return body
}

// DecodeAnswer returns the answer to a request, with the type that the request declares, or its *messages.Error. If the
// answer cannot be decoded, the error is Internal.
func DecodeAnswer(q messages.Request, body []byte) (any, error) {
	k, err := kindOf(q)
	if err != nil {
		return nil, err
	}
	return k.answer(body)
}

func kindOf(q messages.Request) (*kind, error) {
	t := reflect.TypeOf(q)
	if k := kinds[t.Name()]; k != nil && k.typ == t {
		return k, nil
	}
	return nil, messages.Errorf(messages.Internal, "%T is not for other nodes", q)
}

// kind is a type of request.
type kind struct {
	typ     reflect.Type
	request func(body []byte) (messages.Request, error)
	answer  func(body []byte) (any, error)
	encode  func(answer any) ([]byte, error)
}

func of[Q messages.RequestOf[A], A any]() *kind {
	k := &kind{typ: reflect.TypeFor[Q]()}
	k.request = func(body []byte) (messages.Request, error) {
		var q Q
		if err := json.Unmarshal(body, &q, in); err != nil {
			return nil, messages.Errorf(messages.Internal, "%s cannot be decoded: %v", k.typ.Name(), err)
		}
		return q, nil
	}
	k.answer = func(body []byte) (any, error) {
		var a answer[A]
		if err := json.Unmarshal(body, &a, in); err != nil {
			return nil, messages.Errorf(messages.Internal, "the answer to %s cannot be decoded: %v", k.typ.Name(), err)
		}
		if a.Error != nil {
			return nil, a.Error
		}
		return a.Answer, nil
	}
	k.encode = func(from any) ([]byte, error) {
		a, ok := from.(A)
		if !ok && from != nil {
			return nil, fmt.Errorf("%s was answered with a %T", k.typ.Name(), from)
		}
		return json.Marshal(answer[A]{Answer: a}, out)
	}
	return k
}

// OmitZeroStructFields keeps nil lists different from empty lists, and a pointer to a nil list different from a nil
// pointer. OmitEmptyWithLegacySemantics keeps a pointer to a zero struct different from a nil pointer.
var (
	out = json.JoinOptions(
		json.OmitZeroStructFields(true), jsonv1.OmitEmptyWithLegacySemantics(true), jsonv1.FormatDurationAsNano(true),
		json.WithMarshalers(json.JoinMarshalers(json.MarshalToFunc(writeTicket), json.MarshalToFunc(writeNode))),
	)
	in = json.JoinOptions(
		jsonv1.FormatDurationAsNano(true),
		json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(readTicket), json.UnmarshalFromFunc(readNode))),
	)
)

// Tickets and registrations of nodes have fields that are sent to other nodes, but not stored.
type (
	storedTicket messages.Ticket
	ticket       struct {
		storedTicket
		EstimatedWait time.Duration
	}
	storedNode coord.Node
	node       struct {
		storedNode
		Incarnation int64
	}
)

func writeTicket(e *jsontext.Encoder, t messages.Ticket) error {
	return json.MarshalEncode(e, ticket{storedTicket(t), t.EstimatedWait})
}

func readTicket(d *jsontext.Decoder, t *messages.Ticket) error {
	var sent ticket
	err := json.UnmarshalDecode(d, &sent)
	*t = messages.Ticket(sent.storedTicket)
	t.EstimatedWait = sent.EstimatedWait
	return err
}

func writeNode(e *jsontext.Encoder, n coord.Node) error {
	return json.MarshalEncode(e, node{storedNode(n), n.Incarnation})
}

func readNode(d *jsontext.Decoder, n *coord.Node) error {
	var sent node
	err := json.UnmarshalDecode(d, &sent)
	*n = coord.Node(sent.storedNode)
	n.Incarnation = sent.Incarnation
	return err
}
