//go:build !unix

package ops

// read does nothing, because these figures are not available on this system.
func (*ProcessFigures) read() {}
