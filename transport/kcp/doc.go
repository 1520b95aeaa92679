// Package kcp is the reliable transport over UDP: KCP inside a DTLS association.
package kcp
