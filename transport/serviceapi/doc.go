// Package serviceapi implements the operations of the AWS-shaped service API (version
// 2015-10-01), so that unmodified AWS SDKs and command lines can drive the host. Package
// awswire does protocols, authentication, and the checks that the service model defines for
// each member.
//
// model.txt is the service model: the errors that each operation declares and the rules of its
// members. operations.go is the table of the functions that answer. A function checks rules
// across members, translates between API shapes and messages, and cuts lists into pages. It
// decides nothing about games: that is the Backend's work, which the actors implement.
package serviceapi
