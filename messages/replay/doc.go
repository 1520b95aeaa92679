// Package replay keeps the answers to recent calls, so that a call that is repeated gets the answer of the first attempt.
// The owner of an Answers chooses the keys and what an answer is. The package knows no requests and stores nothing.
package replay
