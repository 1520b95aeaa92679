package awswire

import (
	"context"
	"errors"
	"reflect"
)

// Operation is a row of a service's table: its name, the abbreviations of the errors that it declares (passed
// to Options.Fault), and its handler.
type Operation struct {
	Name     string
	Declared string
	BodyMax  int64 // maximum bytes of a request body
	Rules    int   // number of input members that are checked
	serve    func(ctx context.Context, c codec, body []byte) ([]byte, error)
}

// Op returns an operation that calls handle. In and Out are structs of the SDK: all members are exported, and
// optional ones are pointers. handle gets an input that has passed the rules, and may keep it. It returns a
// new output or an error, and must be safe for concurrent use.
func Op[In, Out any](name, declared string, handle func(context.Context, *In) (*Out, error), rules ...Rule) Operation {
	bound := bind(reflect.TypeFor[In](), rules)
	serve := func(ctx context.Context, c codec, body []byte) ([]byte, error) {
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
	return Operation{Name: name, Declared: declared, BodyMax: bodyMax, Rules: len(rules), serve: serve}
}

// Refuse returns an operation that answers every request with err.
func Refuse(name, declared string, err error) Operation {
	return Operation{Name: name, Declared: declared, BodyMax: bodyMax, serve: func(context.Context, codec, []byte) ([]byte, error) { return nil, err }}
}

// WithBody returns the operation with a limit for request bodies other than the usual 1 MiB.
func (o Operation) WithBody(most int64) Operation {
	o.BodyMax = most
	return o
}
