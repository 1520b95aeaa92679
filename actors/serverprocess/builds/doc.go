// Package builds keeps the files of builds on a host (service-api.md 2.14).
//
// A build names a zip archive or a folder in the storage of the hosts. Each host unpacks it into a folder of its own, from
// which the processes of the build's fleets run. Once the files are durable, and the catalog has agreed to their digest, a
// file says so: it has the digest and the owner of the files. A build is unpacked again if this file is missing, if its digest is
// not that of the catalog's record, or if its owner is not the configured one.
//
//	storage/BUCKET/KEY -> dir/build-ID -> catalog -> dir/build-ID.digest -> processes
//
// An archive is input from outside. actors/filetree says what may be in it; its bytes and ratio, and those of all builds
// together, are limited here. All files become those of the user that runs the processes, which may write there, as on the
// original.
//
// A Folder has a goroutine, which unpacks and deletes one build after the other. It belongs to the fleet actor, which
// calls its methods; none of them blocks, except Close. It reports what it has unpacked to the catalog, by Options.Report,
// and tells the actor about it, by Options.Tell. A second goroutine asks whether the builds that have files at the start still
// exist, by Options.Known.
package builds
