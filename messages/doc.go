// Package messages defines what all layers share: ids, statuses, close reasons, and the requests and records between them. Their
// encoding is in messages/wire, the behaviour in actors. It imports nothing of the project, starts nothing and owns no state.
//
// Values are immutable once sent. A Request names its answer and its route; actors receive it in a stage.Ask.
package messages
