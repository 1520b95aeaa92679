// Package stories tests a whole host with access keys. The clients of a game's backend drive it: the AWS SDKs for Go and
// JavaScript, and the aws command line. Each goes through one story: script, fleet, queue, placement, play, search, end.
// The package contains only tests.
package stories
