// Package builds keeps the files of builds on a host (service-api.md 2.14).
//
// A build names a zip archive or a folder in the storage of the hosts. Each host unpacks it into a folder of its own, from
// which the processes of the build's fleets run: into a temporary folder first, which then gets the build's id as its name,
// so that a folder of that name is always complete.
//
//	storage/BUCKET/KEY -> dir/.new-N -> dir/build-ID -> processes
//
// An archive is input from outside. It is unpacked with limits on its bytes, files and ratio; paths that leave the folder,
// links, devices, and names that are the same on some systems are refused. All files become those of the user that runs the
// processes, which may write there, as on the original.
//
// A Folder has one goroutine, which unpacks and deletes one build after the other. It belongs to the fleet actor, which
// calls its methods; none of them blocks, except Close. It reports what it has unpacked to the catalog, by Options.Report,
// and tells the actor about it, by Options.Tell.
package builds
