// Package js contains the SDK for players in browsers and Node.js: @troupe/client, written in TypeScript (src) and
// built into one file (dist/client.js). A host serves that file at /client.js. The README in this folder is for its
// users. The SDK has the behaviour and the names of package client. It also has the same tests, which run in Node.js
// and in Chromium: test/conformance.js against a real host, and test/life.js in virtual time.
//
// The esbuild library that the script engine uses bundles the TypeScript. So building and testing need no npm; only type checking
// does (make js). TestTheBundleIsCurrent fails if dist/client.js is older than src. With -update it writes dist/client.js.
package js
