package faults

import (
	"os"
	"testing"
)

// children are what this program does instead of testing, by the variable of the environment that says so.
var children = map[string]func(value string){}

func TestMain(m *testing.M) {
	for name, run := range children {
		if value := os.Getenv(name); value != "" {
			run(value)
			return
		}
	}
	os.Exit(m.Run())
}
