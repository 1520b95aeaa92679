// Package uploads takes the zip archives of builds from clients of S3, as `aws gamelift upload-build` is one
// (service-api.md 2.14). It speaks what an upload needs: PutObject, and CreateMultipartUpload, UploadPart,
// CompleteMultipartUpload and AbortMultipartUpload, with the bucket in the path.
//
// RequestUploadCredentials hands out a session token that is good for one build and some hours. Whoever sends it may upload
// the build's archive. The token says so by itself, so that any host of a cluster and any later process knows it; signatures
// are not looked at.
//
// The catalog alone decides which upload is the archive of a build. What is uploaded is written to files with begunMark in their
// names. When it is complete, it gets a name that no other upload of the build has (a hash of the bytes, or of the upload and its
// parts), is made durable, and the catalog is told that name. The first one is the archive; what else there is of the build is
// deleted then. So an upload that is repeated, while it is being completed or after the answer was lost, is answered like
// the first time, by any host with the same folder.
//
//	ID.upload-part-*, ID.upload-UPLOAD/PART, ID.upload-whole-* -> ID.HASH.zip -> catalog
//
// All names begin with the build's id and a dot: so actors/serverprocess/builds finds them when the build is deleted.
package uploads
