// Package echo is a server that sends back what comes, over plain UDP, DTLS or KCP inside DTLS, and does nothing else: what
// each of them costs a message is the difference of their processes. `troupe bench` starts it; no host uses it.
package echo
