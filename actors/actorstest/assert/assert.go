package assert

import "slices"

// T is the part of testing.TB that the checks need. A rapid.T implements it too.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// Equal fails the test unless got equals want. what names the value in the error message.
func Equal[V comparable](t T, what string, got, want V) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// List fails the test unless got and want have the same elements in the same order.
func List[V comparable](t T, what string, got, want []V) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// NoError ends the test if err is not nil. It must be called in the test's goroutine.
func NoError(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// OK is like NoError, for a call that also returns a value that is not needed: assert.OK(call())(t).
func OK[V any](_ V, err error) func(T) {
	return func(t T) {
		t.Helper()
		NoError(t, err)
	}
}

// Value is like OK, but returns the call's value: v := assert.Value(call())(t).
func Value[V any](v V, err error) func(T) V {
	return func(t T) V {
		t.Helper()
		NoError(t, err)
		return v
	}
}
