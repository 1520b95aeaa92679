// Package serviceapitest calls a service API from outside, with the clients its
// users have: the AWS SDK for Go and the one for JavaScript. It knows a base
// address and a fleet id and nothing of the server, so the same checks run
// against a fake backend and against a whole host. Tests only.
package serviceapitest
