// Package tlsconf holds the host's certificate: one leaf with its chain for wss and DTLS alike, and the trust anchors that players get in
// LOGIN_RESPONSE as caCert (realtime.md 8.2). It comes from a private CA that is made at first start, or from the operator's own files.
//
// A Store swaps the certificate without a restart, and renews its own leaf in time. If the files become wrong, it keeps the certificate it
// has. Files that are damaged or do not fit together are never replaced; the error names them.
//
// The data directory:
//
//	ca/cert.pem   the CA's certificate, to import into a player's trust store for wss
//	ca/key.pem    the CA's private key
//	leaf.pem      the leaf and its private key
//	ca-next/      a CA that Prepare made, for Rotate to use
//	ca-until-...  CAs that Rotate has put aside
//
// A private CA can sign only server certificates for the configured names and addresses (name constraints, extended key usage). A stolen
// key, or misplaced trust in the CA, therefore endangers nothing else. CAs of older versions may sign for any name.
//
// The package requests no certificates: with ACME, let the ACME client write the files, and Store.Watch will see the change.
//
// The stock C# client checks wss against the platform's trust store, and DTLS against caCert, with a library that compares DNS names only.
// Its endpoint must therefore be a host name, not an IP address.
package tlsconf
