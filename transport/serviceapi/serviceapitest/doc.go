// Package serviceapitest calls a service API from outside, with the clients of its users: the AWS SDKs for Go
// and for JavaScript. It only needs a base address and a fleet id, so the same checks run against a fake
// backend and against a complete host. It is for tests only.
package serviceapitest
