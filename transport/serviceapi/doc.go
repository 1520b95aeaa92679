// Package serviceapi implements the operations of the AWS-shaped service API (version 2015-10-01), so that
// unmodified AWS SDKs and command lines can control the host. Package awswire handles protocols,
// authentication, and the checks that the service model defines for each member.
//
// model.txt is the service model: the errors that each operation declares and the rules of its members.
// operations.go has the table of handlers. A handler checks rules that involve several members, converts
// between API structs and messages, and cuts lists into pages. It makes no decisions about game sessions.
// Those are the Backend's, which the actors implement.
package serviceapi
