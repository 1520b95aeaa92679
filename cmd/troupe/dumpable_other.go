//go:build !linux

package main

import "github.com/rs/zerolog"

// notDumpable has an effect on Linux only.
func notDumpable(zerolog.Logger) {}
