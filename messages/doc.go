// Package messages defines the types that all layers share: ids, statuses, close reasons,
// and the requests and records that cross from one layer to another. Their encoding is in
// messages/wire, the behaviour in actors. The package imports nothing of the project,
// starts nothing and owns no state.
//
// Values are immutable once sent. A Request names its answer and its route; actors receive it in a stage.Ask.
package messages
