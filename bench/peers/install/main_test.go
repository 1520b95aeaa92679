package main

import "testing"

func TestReasonOfATool(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"npm warn old\nnpm error code E404\nnpm error 404 Not Found - GET https://npm.example.com/x - Not found\n": "npm error 404 Not Found - GET (address) - Not found",
		"go: downloading a v1\n# bench-nano\n./main.go:3:1: syntax error\n":                                        "./main.go:3:1: syntax error",
		"": "it failed without a word",
	} {
		if got := reason(output); got != want {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
	}
}
