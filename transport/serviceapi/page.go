package serviceapi

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
	"time"

	"troupe/transport/awswire"
)

// Maximum page sizes (service-api.md 1.6). A larger Limit is reduced to them.
const (
	pageMax       = 100 // D-203
	pageSearchMax = 20
)

// pager creates and verifies page tokens. A token names the last item of its page, so it stays valid when
// items are added or removed. It becomes invalid when the key changes. An HMAC with the key binds the token
// to the operation and the filter.
//
//	version (1 byte) | MAC (16 bytes) | creation time in us (8 bytes) | id, all in base64url
//
// Tokens of game session lists have another format after the MAC: see search.go.
type pager struct{ key [32]byte }

func newPager(key []byte) *pager {
	p := new(pager)
	if copy(p.key[:], key) == 0 {
		_, _ = rand.Read(p.key[:]) // never fails
	}
	return p
}

const (
	tokenVersion = 1
	tokenMAC     = 16
	tokenHead    = 1 + tokenMAC
)

// position is the sort key of an item in its list.
type position struct {
	created int64 // us since the epoch
	id      string
}

func at[ID ~string](created time.Time, id ID) position {
	return position{created.UnixMicro(), string(id)}
}

// oldestFirst is the order of all lists except fleet events.
func oldestFirst(a, b position) int {
	return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.id, b.id))
}

// latestFirst is the order of fleet events, whose ids increase with time.
func latestFirst(a, b position) int { return oldestFirst(b, a) }

// paging holds the paging parameters of one call.
type paging struct {
	operation string
	input     any // pointer to the SDK input; Limit and NextToken are not part of the filter
	limit     *int32
	token     *string
	max       int
	order     func(a, b position) int
}

// pagingOf reads the paging parameters of an SDK input. The operation is the type's name without Input.
func pagingOf(input any, most int) paging {
	v := reflect.ValueOf(input).Elem()
	return paging{
		operation: strings.TrimSuffix(v.Type().Name(), "Input"), input: input, max: most, order: oldestFirst,
		limit: v.FieldByName("Limit").Interface().(*int32), token: v.FieldByName("NextToken").Interface().(*string),
	}
}

// size returns the maximum number of items in a page.
func (p *paging) size() int {
	if p.limit != nil {
		return min(p.max, int(*p.limit))
	}
	return p.max
}

func (p *paging) badToken() error {
	return invalid("NextToken is not one that %s returned for this filter", p.operation)
}

// cut sorts items. It returns the requested page and the token of the next page, which is nil after the last
// page.
func cut[T any](p *pager, how paging, items []T, of func(T) position) ([]T, *string, error) {
	items = slices.Clone(items)
	slices.SortFunc(items, func(a, b T) int { return how.order(of(a), of(b)) })
	bound, err := filterHash(how.input)
	if err != nil {
		return nil, nil, err
	}
	if how.token != nil {
		last, ok := p.open(*how.token, how.operation, bound)
		if !ok {
			return nil, nil, how.badToken()
		}
		behind := func(item T) bool { return how.order(of(item), last) > 0 }
		if i := slices.IndexFunc(items, behind); i >= 0 {
			items = items[i:]
		} else {
			items = nil
		}
	}
	size := how.size()
	if len(items) <= size {
		return items, nil, nil
	}
	items = items[:size]
	token := p.seal(of(items[size-1]), how.operation, bound)
	return items, &token, nil
}

// page is cut with items converted by show. If err is not nil, it only returns err.
func page[T, S any](s *Server, err error, how paging, items []T, of func(T) position, show func(T) *S) ([]S, *string, error) {
	if err != nil {
		return nil, nil, err
	}
	items, token, err := cut(s.pager, how, items, of)
	return shownAll(items, show), token, err
}

func shownAll[T, S any](items []T, show func(T) *S) []S {
	shown := make([]S, len(items))
	for i, item := range items {
		shown[i] = *show(item)
	}
	return shown
}

func (p *pager) seal(last position, operation string, bound [sha256.Size]byte) string {
	return p.sealBytes(append(binary.BigEndian.AppendUint64(nil, uint64(last.created)), last.id...), operation, bound)
}

func (p *pager) open(token, operation string, bound [sha256.Size]byte) (position, bool) {
	raw, ok := p.openBytes(token, operation, bound)
	if !ok || len(raw) < 8 {
		return position{}, false
	}
	return position{int64(binary.BigEndian.Uint64(raw)), string(raw[8:])}, true
}

func (p *pager) sealBytes(payload []byte, operation string, bound [sha256.Size]byte) string {
	raw := append([]byte{tokenVersion}, p.mac(payload, operation, bound)...)
	return base64.RawURLEncoding.EncodeToString(append(raw, payload...))
}

func (p *pager) openBytes(token, operation string, bound [sha256.Size]byte) ([]byte, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || strings.ContainsAny(token, "\r\n") || // the decoder would ignore line breaks
		len(raw) < tokenHead || raw[0] != tokenVersion {
		return nil, false
	}
	payload := raw[tokenHead:]
	return payload, subtle.ConstantTimeCompare(raw[1:tokenHead], p.mac(payload, operation, bound)) == 1
}

func (p *pager) mac(payload []byte, operation string, bound [sha256.Size]byte) []byte {
	h := hmac.New(sha256.New, p.key[:])
	h.Write(bound[:])
	h.Write([]byte(operation))
	h.Write([]byte{0})
	h.Write(payload)
	return h.Sum(nil)[:tokenMAC]
}

// filterHash returns the hash that a token is bound to. It covers the input without Limit and NextToken.
func filterHash(input any) ([sha256.Size]byte, error) {
	filter := reflect.New(reflect.TypeOf(input).Elem())
	filter.Elem().Set(reflect.ValueOf(input).Elem())
	filter.Elem().FieldByName("Limit").SetZero()
	filter.Elem().FieldByName("NextToken").SetZero()
	text, err := awswire.EncodeJSON(filter.Interface())
	return sha256.Sum256(text), err
}
