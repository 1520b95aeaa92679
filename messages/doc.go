// Package messages holds the words that all layers share: ids, statuses, close
// reasons, and the requests, replies and records that cross from one layer to
// another. It knows meaning, not bytes (messages/wire knows bytes) and not
// behaviour (actors do). It imports nothing of the project, starts nothing and
// owns no state.
//
// Values are immutable once sent. A request travels with a Reply function that
// the receiver calls exactly once; see Reply.
package messages
