// Package console is the operator's console of one host. It serves the JSON API below /admin/v1/, and the
// pages that show its data, at / of the service API's address. The pages are plain ES modules without a build
// step. They are embedded here and load nothing from other addresses.
//
// The package decides who may use the console (access.go): callers on this machine if the host trusts them,
// browsers that have logged in with an access key that allows every operation, and requests signed with such
// a key. Keys that allow all reading operations may only read. The console adds no work to the processing of
// messages: it reads counters, records and actors when a request needs them, and nothing runs between
// requests. Player session ids are shortened, because whoever knows an id can log in as the player.
package console
