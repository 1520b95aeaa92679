//go:build !unix

package ops

// read knows nothing here.
func (*ProcessFigures) read() {}
