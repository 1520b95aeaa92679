// Package stories tests a complete host with access keys. Clients that a game's backend may use drive it: the
// AWS SDKs for Go and JavaScript, and the aws command line. Each runs the same story: script, fleet, queue,
// placement, play, search, end. The package has only tests.
package stories
