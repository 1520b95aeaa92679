package messages

import "time"

// BuildID is `build-<uuid>`.
type BuildID string

// BuildStatus is the status of a build (service-api.md 2.14).
type BuildStatus uint8

// Values of BuildStatus.
const (
	BuildInitialized BuildStatus = iota + 1 // no host has unpacked it yet
	BuildReady
	BuildFailed
)

var buildStatusNames = [...]string{"", "INITIALIZED", "READY", "FAILED"}

// String returns the name used by the service API.
func (s BuildStatus) String() string { return nameOf(buildStatusNames[:], int(s)) }

// ParseBuildStatus is the inverse of String. ok is false for any other text.
func ParseBuildStatus(s string) (status BuildStatus, ok bool) {
	return parse[BuildStatus](buildStatusNames[:], s)
}

// Build is the record of a build at one moment. It is immutable. Its files are not in the store: each host unpacks them
// from its own storage.
type Build struct {
	ID              BuildID
	Name, Version   string
	OperatingSystem string // as the caller has given it; empty if it has not
	SDKVersion      string // version of the Server SDK; as above
	Bucket, Key     string // where its zip or folder is in the storage of each host
	Awaits          bool   `json:",omitempty"` // nothing is there before it is uploaded
	Status          BuildStatus
	Why             string `json:",omitempty"` // why it is FAILED
	Size            int64  // bytes of all its files; 0 until it is READY
	Digest          string `json:",omitempty"` // of all its files; empty until it is READY
	Created         time.Time
	Tags            map[string]string
	Call            string `json:",omitempty"` // see WithID
}

// UploadsBucket is the bucket of builds that are uploaded to a host. Clients of S3 put such a name into the path of a
// request, because it cannot be part of the name of a machine.
const UploadsBucket = "Troupe_Uploads"

// UploadSuffix is the end of all keys in UploadsBucket.
const UploadSuffix = ".zip"

// UploadKey returns the key to which clients upload a build in UploadsBucket. Its archive has another one (BuildUploaded).
func UploadKey(id BuildID) string { return string(id) + UploadSuffix }

// BuildsTimes is how many times the bytes of the largest build (builds.unpackedMax) all unpacked builds of a host may have
// together, and all that has been uploaded.
const BuildsTimes = 25

// CreateBuild creates a build of what is in the storage of the hosts. It is answered before that has been unpacked.
type CreateBuild struct {
	ToCatalog[*Build]
	ID              BuildID // a new id (see WithID)
	Name, Version   string
	OperatingSystem string
	SDKVersion      string
	Bucket, Key     string // both empty: the build will be uploaded, and BuildUploaded follows
	Tags            map[string]string
	Call            string // see WithID
}

// BuildUploaded says that an archive of a build has been uploaded. The first one becomes that of the build; for another one the
// error is Conflict.
type BuildUploaded struct {
	ToCatalog[None]
	ID  BuildID
	Key string // where the archive is in UploadsBucket
}

// UpdateBuild changes those attributes that are not empty.
type UpdateBuild struct {
	ToCatalog[*Build]
	ID            BuildID
	Name, Version string
}

// DeleteBuild deletes a build. The error is InvalidRequest if a fleet uses the build.
type DeleteBuild struct {
	ToCatalog[None]
	ID BuildID
}

// BuildQuery requests one build. An empty id requests all builds, oldest first. For this and all other requests about one
// build, the error is NotFound if there is none, and Conflict if its record in the store may be damaged.
type BuildQuery struct {
	ToCatalog[[]*Build]
	ID BuildID
}

// BuildUnpacked says that a host has unpacked a build, or has failed to. The first host that has unpacked it makes it
// READY. The error is Conflict if the host has other files than the first one had, and NotFound if the build is deleted.
type BuildUnpacked struct {
	ToCatalog[None]
	ID     BuildID
	Size   int64
	Digest string
	Failed string // why the host has not unpacked it; empty if it has
}
