package assert

import "slices"

// T is the part of a testing.TB, or of a rapid.T, that the checks need.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// Equal fails the test unless got equals want. What names the value.
func Equal[V comparable](t T, what string, got, want V) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// List fails the test unless got has the elements of want.
func List[V comparable](t T, what string, got, want []V) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// NoError ends the test if err is an error. It must be called in the test's goroutine.
func NoError(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// OK is NoError for a call that returns a value too: assert.OK(call())(t).
func OK[V any](_ V, err error) func(T) {
	return func(t T) {
		t.Helper()
		NoError(t, err)
	}
}

// Value is OK for a call whose value is used: v := assert.Value(call())(t).
func Value[V any](v V, err error) func(T) V {
	return func(t T) V {
		t.Helper()
		NoError(t, err)
		return v
	}
}
