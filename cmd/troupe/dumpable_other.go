//go:build !linux

package main

import "github.com/rs/zerolog"

// notDumpable does something on Linux only.
func notDumpable(zerolog.Logger) {}
