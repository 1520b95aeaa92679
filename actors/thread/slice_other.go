//go:build !linux

package thread

// Long calls f, which may run for long.
func Long(f func()) { f() }
