package awswire

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// jsonCodec implements AWS JSON 1.1 (service-api.md 1.7). It ignores unknown members, and refuses duplicate
// names, invalid UTF-8 and wrong types.
type jsonCodec struct{}

const jsonContentType = "application/x-amz-json-1.1"

func (jsonCodec) contentType() string { return jsonContentType }

var (
	// The library ignores unknown members. It also refuses malformed bodies, which the scan does not.
	jsonIn = json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(readEpoch), json.UnmarshalFromFunc(readEnum)))
	// OmitZeroStructFields leaves out nil pointers, nil lists, empty enums and ResultMetadata, which could
	// not be encoded. Zero numbers and false are still written, because the SDK has pointers to them.
	jsonOut = json.JoinOptions(
		json.OmitZeroStructFields(true),
		json.Deterministic(true),
		jsontext.AllowInvalidUTF8(true), // written as U+FFFD
		json.WithMarshalers(json.MarshalToFunc(writeEpoch)),
	)
)

func (jsonCodec) decode(body []byte, in any) error {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return nil
	}
	if body[0] != '{' {
		return undecodable("want a JSON object")
	}
	if err := scanJSON(body); err != nil {
		return undecodable("%s", err)
	}
	err := json.Unmarshal(body, in, jsonIn)
	if err == nil {
		return nil
	}
	var syntax *jsontext.SyntacticError
	var kind *json.SemanticError
	switch { // our own texts: those of the library contain names of Go types
	case errors.As(err, &syntax):
		return undecodable("malformed JSON at byte %d: %s", syntax.ByteOffset, syntax.Err)
	case errors.As(err, &kind):
		return undecodable("wrong type or range of member %s: JSON %s", Clip(string(kind.JSONPointer)), kind.JSONKind)
	}
	return undecodable("malformed JSON")
}

func (jsonCodec) encode(out any) ([]byte, error) { return EncodeJSON(out) }

// EncodeJSON encodes an SDK struct as AWS JSON. Equal values have equal encodings.
func EncodeJSON(v any) ([]byte, error) { return json.Marshal(v, jsonOut) }

func (jsonCodec) encodeError(code, text string) []byte {
	body, err := json.Marshal(map[string]string{"__type": code, "Message": text, "message": text}, jsonOut)
	if err != nil { // strings can always be encoded; if not, the code alone is still an error body
		return []byte(`{"__type":` + strconv.Quote(code) + `}`)
	}
	return body
}

// writeEpoch writes a time as seconds since the epoch, with milliseconds as the fraction.
func writeEpoch(enc *jsontext.Encoder, t time.Time) error {
	seconds := float64(shown(t).UnixMilli()) / 1000
	return enc.WriteValue(strconv.AppendFloat(nil, seconds, 'f', -1, 64))
}

func readEpoch(dec *jsontext.Decoder, t *time.Time) error {
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() == 'n' { // null
		*t = time.Time{}
		return nil
	}
	if token.Kind() != '0' { // number
		return errNotEpoch
	}
	seconds, err := token.Float()
	if err != nil {
		return errNotEpoch
	}
	*t, err = epoch(seconds)
	return err
}

// readEnum decodes enumerations. It makes an empty text distinguishable from an absent one.
func readEnum(dec *jsontext.Decoder, v any) error {
	dst := reflect.ValueOf(v).Elem()
	if !isEnum(dst.Type()) || dec.PeekKind() != '"' {
		return errors.ErrUnsupported
	}
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	text := token.String()
	if text == "" {
		text = emptyEnum
	}
	dst.SetString(text)
	return nil
}

var errNotEpoch = errors.New("want seconds since the epoch as a number")

// shown rounds a time to whole milliseconds, as responses have it.
func shown(t time.Time) time.Time { return t.Round(time.Millisecond) }

const epochMax = 253402300799 // the end of the year 9999: most formats cannot write later times

// epoch converts seconds since the epoch to a time, rounded to the millisecond.
func epoch(seconds float64) (time.Time, error) {
	if math.IsNaN(seconds) || math.Abs(seconds) > epochMax {
		return time.Time{}, errNotEpoch
	}
	return time.UnixMilli(int64(math.Round(seconds * 1000))).UTC(), nil
}

// Clip shortens text from a request before it is used in an error message.
func Clip(s string) string {
	const most = 64
	count := 0
	for i := range s {
		if count == most {
			return s[:i] + "..."
		}
		count++
	}
	return s
}
