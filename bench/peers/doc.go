// Package peers speaks the protocols of the servers that Troupe is compared with, for the load generator. The servers
// themselves are in folders of this package, each a thin room server: what a member says goes to all members of its room. Each
// is a module of its own (or a package.json), so that nothing of it is part of Troupe. make peers makes them ready.
//
// Each server is used as its makers would have it for raw bytes, in the cheapest way that its documentation shows:
//
//   - Colyseus with @colyseus/ws-transport: messages as bytes, broadcastBytes, no state and so no patches.
//   - centrifuge: Protobuf, a server-side subscription for each room, asynchronous messages that are published without
//     history, so that there is no reply to the sender.
//   - nano: its own binary packets over WebSocket, notifications in, a group broadcast out, no JSON.
//
// A server takes --addr and --announce. It writes {"ws": "HOST:PORT", "protocol": NAME, "version": TEXT, "stats": BOOL} to
// the file that --announce names. With stats, GET /stats answers {"mallocs": N, "goroutines": N}.
package peers
