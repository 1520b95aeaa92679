package awswire

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"
)

// cborCodec implements Smithy RPC v2 CBOR and is as strict as the JSON codec. It converts between SDK structs
// and the value tree of smithy-go.
type cborCodec struct{}

const (
	cborContentType = "application/cbor"
	cborProtocol    = "rpc-v2-cbor"
	cborTagEpoch    = 1
)

func (cborCodec) contentType() string { return cborContentType }

func (cborCodec) decode(body []byte, in any) error {
	if len(body) == 0 {
		return nil
	}
	pairs, err := scanCBOR(body)
	if err != nil {
		return undecodable("%s", err)
	}
	tree, err := cbor.Decode(body)
	if err != nil { // a second line of defence: the scan refuses everything that the decoder refuses
		return undecodable("%s", err)
	}
	top, ok := tree.(cbor.Map)
	if !ok {
		return undecodable("want a CBOR map")
	}
	if countPairs(top) != pairs {
		return undecodable("a CBOR map holds a key twice")
	}
	return fromCBOR(top, reflect.ValueOf(in).Elem(), "")
}

func (cborCodec) encode(out any) ([]byte, error) {
	v, err := toCBOR(reflect.ValueOf(out).Elem())
	if err != nil {
		return nil, err
	}
	return cbor.Encode(v), nil
}

func (cborCodec) encodeError(code, text string) []byte {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return cbor.Encode(cbor.Map{"__type": cbor.String(code), "Message": cbor.String(text), "message": cbor.String(text)})
}

// countPairs counts the map entries of a decoded tree. The decoder keeps only the last of duplicate keys. So
// if the tree has fewer entries than the scan counted, a key is duplicated.
func countPairs(v cbor.Value) (n int) {
	switch v := v.(type) {
	case cbor.Map:
		n = len(v)
		for _, entry := range v {
			n += countPairs(entry)
		}
	case cbor.List:
		for _, entry := range v {
			n += countPairs(entry)
		}
	case *cbor.Tag:
		n = countPairs(v.Value)
	}
	return n
}

var (
	timeType    = reflect.TypeFor[time.Time]()
	bytesType   = reflect.TypeFor[[]byte]()
	fieldsCache sync.Map // reflect.Type -> []field
)

type field struct {
	name  string
	index []int
}

// membersOf lists the members of an SDK struct that are part of the service, including those of an embedded
// struct.
func membersOf(t reflect.Type) []field {
	if known, ok := fieldsCache.Load(t); ok {
		return known.([]field)
	}
	fields := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case !f.IsExported() || f.Name == metadataField:
		case f.Anonymous:
			for _, inner := range membersOf(f.Type) {
				fields = append(fields, field{inner.name, append([]int{i}, inner.index...)})
			}
		default:
			fields = append(fields, field{f.Name, []int{i}})
		}
	}
	fieldsCache.Store(t, fields)
	return fields
}

// fromCBOR fills dst from v. As in JSON, null means absent. The scan has already limited the depth.
func fromCBOR(v cbor.Value, dst reflect.Value, path string) error {
	switch v.(type) {
	case *cbor.Nil, *cbor.Undefined:
		dst.SetZero()
		return nil
	}
	switch {
	case dst.Kind() == reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		return fromCBOR(v, dst.Elem(), path)
	case dst.Type() == timeType:
		return timeFromCBOR(v, dst, path)
	case dst.Kind() == reflect.Struct || dst.Kind() == reflect.Map:
		m, ok := v.(cbor.Map)
		if !ok {
			return wrongType(path, v)
		}
		if dst.Kind() == reflect.Map {
			return mapFromCBOR(m, dst, path)
		}
		for _, f := range membersOf(dst.Type()) {
			if entry, ok := m[f.name]; ok {
				if err := fromCBOR(entry, dst.FieldByIndex(f.index), path+"/"+f.name); err != nil {
					return err
				}
			}
		}
		return nil
	case dst.Type() == bytesType:
		b, ok := v.(cbor.Slice)
		if !ok {
			return wrongType(path, v)
		}
		dst.SetBytes(b)
		return nil
	case dst.Kind() == reflect.Slice:
		return listFromCBOR(v, dst, path)
	}
	return scalarFromCBOR(v, dst, path)
}

func mapFromCBOR(m cbor.Map, dst reflect.Value, path string) error {
	dst.Set(reflect.MakeMapWithSize(dst.Type(), len(m)))
	for key, entry := range m {
		value := reflect.New(dst.Type().Elem()).Elem()
		if err := fromCBOR(entry, value, path+"/"+key); err != nil {
			return err
		}
		dst.SetMapIndex(reflect.ValueOf(key).Convert(dst.Type().Key()), value)
	}
	return nil
}

func listFromCBOR(v cbor.Value, dst reflect.Value, path string) error {
	l, ok := v.(cbor.List)
	if !ok {
		return wrongType(path, v)
	}
	dst.Set(reflect.MakeSlice(dst.Type(), len(l), len(l))) // an empty list differs from an absent list
	for i, entry := range l {
		if err := fromCBOR(entry, dst.Index(i), path); err != nil {
			return err
		}
	}
	return nil
}

func scalarFromCBOR(v cbor.Value, dst reflect.Value, path string) error {
	switch dst.Kind() {
	case reflect.String: // enums, too: rules check their values
		if s, ok := v.(cbor.String); ok {
			if s == "" && isEnum(dst.Type()) {
				s = emptyEnum
			}
			dst.SetString(string(s))
			return nil
		}
	case reflect.Bool:
		if b, ok := v.(cbor.Bool); ok {
			dst.SetBool(bool(b))
			return nil
		}
	case reflect.Int32, reflect.Int64:
		if n, err := cbor.AsInt64(v); err == nil && !dst.OverflowInt(n) {
			dst.SetInt(n)
			return nil
		}
	case reflect.Float32, reflect.Float64: // floats of any width, and integers
		if f, err := cbor.AsFloat64(v); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) && !dst.OverflowFloat(f) {
			dst.SetFloat(f)
			return nil
		}
	}
	return wrongType(path, v)
}

func timeFromCBOR(v cbor.Value, dst reflect.Value, path string) error {
	tag, ok := v.(*cbor.Tag)
	if !ok || tag.ID != cborTagEpoch {
		return wrongType(path, v)
	}
	seconds, err := cbor.AsFloat64(tag.Value)
	if err != nil {
		return wrongType(path, v)
	}
	t, err := epoch(seconds)
	if err != nil {
		return wrongType(path, v)
	}
	dst.Set(reflect.ValueOf(t))
	return nil
}

func wrongType(path string, v cbor.Value) error {
	kind := strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", v), "*"), "cbor."))
	return undecodable("wrong type or range of member %s: CBOR %s", Clip(path), kind)
}

var errNoCBOR = errors.New("type has no CBOR form")

// toCBOR builds the tree of an SDK value without absent members, because the Go client fails on a null enum.
func toCBOR(src reflect.Value) (cbor.Value, error) {
	switch {
	case src.Kind() == reflect.Pointer:
		return toCBOR(src.Elem())
	case src.Type() == timeType:
		return &cbor.Tag{ID: cborTagEpoch, Value: cbor.Float64(epochFloat(src.Interface().(time.Time)))}, nil
	case src.Type() == bytesType:
		return cbor.Slice(src.Bytes()), nil
	}
	switch src.Kind() {
	case reflect.Struct:
		return structToCBOR(src)
	case reflect.Slice:
		list := make(cbor.List, src.Len())
		for i := range list {
			v, err := toCBOR(src.Index(i))
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return list, nil
	case reflect.Map:
		m := make(cbor.Map, src.Len())
		for entries := src.MapRange(); entries.Next(); {
			v, err := toCBOR(entries.Value())
			if err != nil {
				return nil, err
			}
			m[entries.Key().String()] = v
		}
		return m, nil
	case reflect.String:
		return cbor.String(strings.ToValidUTF8(src.String(), "\uFFFD")), nil
	case reflect.Bool:
		return cbor.Bool(src.Bool()), nil
	case reflect.Int32, reflect.Int64:
		if n := src.Int(); n < 0 {
			return cbor.NegInt(uint64(-n)), nil
		}
		return cbor.Uint(src.Int()), nil
	case reflect.Float32:
		return cbor.Float32(src.Float()), nil
	case reflect.Float64:
		return cbor.Float64(src.Float()), nil
	}
	return nil, fmt.Errorf("%w: %s", errNoCBOR, src.Type())
}

func structToCBOR(src reflect.Value) (cbor.Value, error) {
	fields := membersOf(src.Type())
	m := make(cbor.Map, len(fields))
	for _, f := range fields {
		member := src.FieldByIndex(f.index)
		if member.IsZero() { // a nil pointer or an empty enum; numbers are pointers in the SDK, so the number 0 is not omitted
			continue
		}
		v, err := toCBOR(member)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		m[f.name] = v
	}
	return m, nil
}

// epochFloat converts a time to seconds. The result is rounded up where necessary: a client that truncates to
// milliseconds, like the Go SDK, then gets the right millisecond.
func epochFloat(t time.Time) float64 {
	ms := shown(t).UnixMilli()
	seconds := float64(ms) / 1000
	if int64(seconds*1000) < ms {
		seconds = math.Nextafter(seconds, math.Inf(1))
	}
	return seconds
}
