// Package rtwire is the little of the Realtime wire format that the benchmarks need: LOGIN, its answer, and a group
// message, one varint-framed protobuf Packet each.
//
// It is written apart from messages/wire on purpose: the yardstick must not share a codec, or a codec's bug, with what it
// measures. It knows no groups, no fast channel and no limits.
package rtwire
