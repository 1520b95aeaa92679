//go:build unix && !linux

package websocket

import "syscall"

// peerClosed: there is no event for a peer that sends no more.
const peerClosed = 0

func writeNonblock(fd int, b []byte) (int, error) { return syscall.Write(fd, b) }

func readNonblock(fd int, b []byte) (int, error) { return syscall.Read(fd, b) }
