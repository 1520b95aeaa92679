// Package serviceapi is the operations of the AWS-shaped service API (version
// 2015-10-01), so that unmodified AWS SDKs and command lines can drive the host. How
// requests and answers travel, who may call, and what the service model says about each
// member is package awswire's work.
//
// operations.go is the table: every operation of the service with the errors that it
// declares, the rules of its members and the function that answers it. A function checks
// rules across members, translates between API shapes and messages, and cuts lists into
// pages. It decides nothing about games: that is the Backend's work, which the actors
// implement.
package serviceapi
