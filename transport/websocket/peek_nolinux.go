//go:build unix && !linux

package websocket

// peerClosed: there is no event for a peer that sends no more.
const peerClosed = 0
