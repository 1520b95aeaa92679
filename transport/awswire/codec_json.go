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

// jsonCodec is AWS JSON 1.1 (service-api.md 1.7): unknown members are ignored, duplicate names, invalid UTF-8 and wrong types refused.
type jsonCodec struct{}

const jsonContentType = "application/x-amz-json-1.1"

func (jsonCodec) contentType() string { return jsonContentType }

var (
	// The library skips what it does not map, and refuses what the scan lets pass.
	jsonIn = json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(readEpoch), json.UnmarshalFromFunc(readEnum)))
	// OmitZeroStructFields drops nil pointers, nil lists, empty enums and ResultMetadata, on which encoding would fail. Zeros survive: the
	// SDK has pointers to all numbers and booleans.
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
	switch { // texts of our own: the library's name Go types
	case errors.As(err, &syntax):
		return undecodable("malformed JSON at byte %d: %s", syntax.ByteOffset, syntax.Err)
	case errors.As(err, &kind):
		return undecodable("wrong type or range of member %s: JSON %s", Clip(string(kind.JSONPointer)), kind.JSONKind)
	}
	return undecodable("malformed JSON")
}

func (jsonCodec) encode(out any) ([]byte, error) { return EncodeJSON(out) }

// EncodeJSON writes an SDK struct as AWS JSON: equal values give equal bytes.
func EncodeJSON(v any) ([]byte, error) { return json.Marshal(v, jsonOut) }

func (jsonCodec) encodeError(code, text string) []byte {
	body, err := json.Marshal(map[string]string{"__type": code, "Message": text, "message": text}, jsonOut)
	if err != nil { // strings always encode; a bare code is still an error body
		return []byte(`{"__type":` + strconv.Quote(code) + `}`)
	}
	return body
}

// writeEpoch writes seconds since the epoch, milliseconds as a fraction.
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

// readEnum reads texts of enumerations, of which an empty one is not an absent one.
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

// shown is a time as it goes out: in whole milliseconds, rounded.
func shown(t time.Time) time.Time { return t.Round(time.Millisecond) }

const epochMax = 253402300799 // the end of the year 9999: most formats cannot write later times

// epoch turns seconds into a time, rounded to the millisecond.
func epoch(seconds float64) (time.Time, error) {
	if math.IsNaN(seconds) || math.Abs(seconds) > epochMax {
		return time.Time{}, errNotEpoch
	}
	return time.UnixMilli(int64(math.Round(seconds * 1000))).UTC(), nil
}

// Clip shortens text from a request before it goes into an error text.
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
