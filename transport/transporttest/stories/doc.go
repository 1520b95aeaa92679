// Package stories has the clients that a game's back end uses, the AWS SDK for Go, the one for JavaScript and the aws
// command line, drive a whole host with access keys through one story: script, fleet, queue, placement, play, search, end.
// The tests are all there is.
package stories
