// Package messages defines what all layers share: ids, statuses, close reasons, and the requests and records that they
// exchange. The package messages/wire encodes them, and the packages below actors implement their behaviour. Package
// messages imports no other package of the project, starts nothing and has no state.
//
// Values are immutable once sent. A Request declares its answer type and its route. Actors receive it in a stage.Ask.
package messages
