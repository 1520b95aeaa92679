// Package console is the operator's view of one host: the JSON API below /admin/v1/, and the
// pages at / of the service API's address that show what it answers. The pages are plain ES
// modules without a build step, embedded here, and load nothing from elsewhere.
//
// The package decides who may look (access.go): callers on this machine where the host trusts
// them, browsers that have logged in with an access key that may call every operation, and
// requests signed with such a key. It keeps nothing on the way of messages: every answer is
// read from counters, records and actors when somebody asks, and while nobody asks nothing
// runs. Player session ids are shown shortened, because whoever has one can take the seat.
package console
