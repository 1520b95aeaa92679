// Package uploads takes the zip archives of builds from clients of S3, as `aws gamelift upload-build` is one
// (service-api.md 2.14). It speaks what an upload needs: PutObject, and CreateMultipartUpload, UploadPart,
// CompleteMultipartUpload and AbortMultipartUpload, with the bucket in the path.
//
// RequestUploadCredentials hands out a session token that is good for one build and some hours. Whoever sends it may upload
// the build's archive. The token says so by itself, so that any host of a cluster and any later process knows it; signatures
// are not looked at.
//
// What is uploaded is written to files with other names than that of the archive, which it gets when it is complete. Then the
// catalog is told, and takes no other upload for the build. All names begin with the build's id and a dot: so
// actors/serverprocess/builds finds them when the build is deleted. Several requests, of several hosts if they share the folder,
// may work on one upload: whoever completes or aborts it takes its parts away from the others by renaming their folder.
package uploads
