package serviceapi

import (
	"context"
	"errors"
	"reflect"

	"troupe/messages"
)

// operation is one entry of the dispatch table.
type operation struct {
	name     string
	declared string // error letters of its row in Appendix A
	replayed bool   // it changes something: repeated invocations get the first response
	rules    int    // members that are checked
	serve    func(ctx context.Context, c codec, body []byte) ([]byte, error)
}

// table maps names to operations. It is built once and then only read.
type table map[string]*operation

// register makes an operation answer by handle instead of as its stub class.
// In and Out are the SDK's structs. handle gets an input that has passed rules;
// it may keep it, and must return a new output or an error.
func register[In, Out any](t table, name string, handle func(context.Context, *In) (*Out, error), rules ...rule) *operation {
	bound := bind(reflect.TypeFor[In](), rules)
	op := t[name]
	op.rules = len(rules)
	op.serve = func(ctx context.Context, c codec, body []byte) ([]byte, error) {
		in := new(In)
		if err := c.decode(body, in); err != nil {
			return nil, err
		}
		if err := apply(bound, "", reflect.ValueOf(in).Elem()); err != nil {
			return nil, err
		}
		out, err := handle(ctx, in)
		if err != nil {
			return nil, err
		}
		if out == nil {
			return nil, errors.New("handler returned neither output nor error")
		}
		return c.encode(out)
	}
	return op
}

// stub answers for an operation that the host does not offer: UR if declared,
// else IR (service-api.md 2.1).
func stub(name, declared string) *operation {
	return &operation{name: name, declared: declared, serve: func(context.Context, codec, []byte) ([]byte, error) {
		text := "the operation " + name + " is not available on this host"
		if declares(declared, "UR") {
			return nil, badRequest(exceptions["UR"], text)
		}
		return nil, messages.Errorf(messages.InvalidRequest, "%s", text)
	}}
}
