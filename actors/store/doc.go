// Package store stores the records of the host. A Store holds records by kind and id. Owners commit changes and answer
// requests when the changes are durable. The package does not interpret records. Close ends its goroutine.
//
// Memory keeps records only for the life of the process. SQLite, which Open returns, keeps them in one file and syncs
// the file before it reports success. Backup and Restore copy such a file.
package store
