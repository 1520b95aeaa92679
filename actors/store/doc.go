// Package store keeps what the service API has answered. A Store holds records by kind
// and id; owners of state commit changes to it and answer when they are durable. It
// knows nothing of what records mean, and starts nothing that its Close does not end.
package store
