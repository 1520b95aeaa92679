// Package tlsconf holds the host's certificate: one leaf with its chain for wss
// and DTLS alike, and the trust anchors that players get in LOGIN_RESPONSE as
// caCert (realtime.md 8.2). It comes from a private CA that is made at first
// start, or from the operator's own files.
//
// A Store owns the files of its data directory (Options.Dir) and what was read
// last. It swaps the certificate without a restart, renews its own leaf in time,
// and keeps what it has when the files are wrong. Files that are damaged or do
// not fit together are an error that names them and are never replaced.
//
// The data directory:
//
//	ca/cert.pem   the CA's certificate: what to import into a player's trust store for wss
//	ca/key.pem    the CA's private key
//	leaf.pem      the leaf and its private key
//	ca-next/      a CA that Prepare made, for Rotate to use
//	ca-until-...  CAs that Rotate has put aside
//
// A private CA may sign certificates of servers for the configured names and addresses
// alone (name constraints, extended key usage), so that whoever gets its key, or trusts it
// by mistake, has lost nothing but them. It is good for three years. When other names are
// configured, a CA that only had those of this machine is replaced; any other one is kept,
// because devices may trust it: a new name is an error, a new address is left out with a
// warning. CAs of older versions, which may sign for
// anything, go on working, with a warning.
//
// The package opens no socket, offers no DTLS (transport/dtls does, with what
// Store.Certificate returns) and obtains no certificate from anyone: with ACME,
// let its client write the files and Store.Watch see them change.
//
// The stock C# client checks wss against the platform's trust store, and DTLS
// against caCert with a library that compares DNS names only: it needs a host
// name as its endpoint, an IP address will not do.
package tlsconf
