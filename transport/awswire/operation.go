package awswire

import (
	"context"
	"errors"
	"reflect"
)

// Operation is a row of a service's table: a name, the errors that it declares, in letters for Options.Fault, and what answers it.
type Operation struct {
	Name     string
	Declared string
	BodyMax  int64 // bytes of a request's body
	Rules    int   // members of the input that are checked
	serve    func(ctx context.Context, c codec, body []byte) ([]byte, error)
}

// Op is an operation that handle answers. In and Out are structs of the SDK: all members exported, pointers where they may be absent.
// Handle gets an input that has passed the rules, may keep it, and returns a new output or an error. Any goroutine may call it.
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

// Refuse is an operation that answers every request with err, whatever is in it.
func Refuse(name, declared string, err error) Operation {
	return Operation{Name: name, Declared: declared, BodyMax: bodyMax, serve: func(context.Context, codec, []byte) ([]byte, error) { return nil, err }}
}

// WithBody is the operation with a larger body than the usual 1 MiB.
func (o Operation) WithBody(most int64) Operation {
	o.BodyMax = most
	return o
}
