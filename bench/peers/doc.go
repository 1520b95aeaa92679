// Package peers implements, for the load generator, the protocols of the servers that Troupe is compared with. The
// servers themselves are in subfolders. Each is a minimal room server that sends each message of a member to all
// members of its room. Each is a separate module (or has a package.json), so that it does not become part of Troupe.
// make peers builds them.
//
// Each server is set up as its authors recommend for raw bytes, in the cheapest way that its documentation shows:
//
//   - Colyseus with @colyseus/ws-transport: messages as bytes, broadcastBytes, no state and therefore no patches.
//   - centrifuge: Protobuf, a server-side subscription for each room, and asynchronous messages that are published
//     without history, so that the sender gets no reply.
//   - nano: its own binary packets over WebSocket, notifications in, a group broadcast out, no JSON.
//
// A server accepts --addr and --announce. It writes {"ws": "HOST:PORT", "protocol": NAME, "version": TEXT, "stats":
// BOOL} to the file that --announce names. If stats is true, GET /stats answers {"mallocs": N, "goroutines": N}.
package peers
