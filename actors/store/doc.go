// Package store keeps what the service API has answered. A Store holds records by kind
// and id; owners of state commit changes to it and answer when they are durable. It
// knows nothing of what records mean, and starts nothing that its Close does not end.
//
// Memory keeps records as long as the process lives; SQLite, made by Open, keeps them in
// one file, and syncs them before anybody is told. Backup and Restore copy such a file.
package store
