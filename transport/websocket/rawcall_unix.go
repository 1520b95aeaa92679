//go:build unix && !linux

package websocket

import "syscall"

func writeNonblock(fd int, b []byte) (int, error) { return syscall.Write(fd, b) }

func readNonblock(fd int, b []byte) (int, error) { return syscall.Read(fd, b) }
