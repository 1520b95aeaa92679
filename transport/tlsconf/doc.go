// Package tlsconf manages the host's certificate: one leaf with its chain, for both wss and DTLS, and the
// trust anchors that players get in LOGIN_RESPONSE as caCert (realtime.md 8.2). The certificate comes from a
// private CA that is created at the first start, or from the operator's own files.
//
// A Store replaces the certificate without a restart, and renews the leaf of a private CA in time. If the
// files become invalid, it keeps the previous certificate. It never overwrites files that are damaged or do
// not match; the error names them.
//
// The data directory:
//
//	ca/cert.pem   the CA's certificate, to import into a player's trust store for wss
//	ca/key.pem    the CA's private key
//	leaf.pem      the leaf and its private key
//	ca-next/      a CA that Prepare created for the next Rotate
//	ca-until-...  previous CAs that Rotate has moved aside
//
// A private CA can sign only server certificates for the configured names and addresses (name constraints,
// extended key usage). So a stolen key, or a device that trusts the CA, endangers nothing else. CAs of older
// versions may sign for any name.
//
// The package requests no certificates. With ACME, let the ACME client write the files; Store.Watch detects
// the change.
//
// The stock C# client verifies wss with the platform's trust store. It verifies DTLS with caCert, using a
// library that compares DNS names only. Its endpoint must therefore be a host name, not an IP address.
package tlsconf
