// Package js has the SDK for players in browsers and Node.js: @troupe/client, written in TypeScript (src), and built into one
// file (dist/client.js) that a host serves at /client.js. The README beside it is for its users. Its behaviour and its
// names are those of package client, and so are its tests, which run in Node.js and in Chromium: the list in test/conformance.js
// against a real host, and the one in test/life.js in virtual time.
//
// The TypeScript is bundled by the esbuild library that the script engine uses, so building and testing take no npm; only the
// check of types does (make js). TestTheBundleIsCurrent says when dist/client.js is older than src, and writes it with -update.
package js
