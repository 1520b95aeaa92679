package uploads

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
)

// Options configure Uploads. They must not change.
type Options struct {
	Dir     string // the folder of the bucket messages.UploadsBucket, which is made when it is needed
	SizeMax int64  // bytes of an archive; all that is in Dir has messages.BuildsTimes as many at most
	Key     []byte // signs tokens
	Now     func() time.Time
	// Awaits says with Conflict or NotFound that a build takes no upload.
	Awaits func(ctx context.Context, id messages.BuildID) error
	// Uploaded makes the file with a name in Dir the archive of a build, whose only one it stays. The error is Conflict or
	// NotFound if the build takes no upload. The same name may be given again.
	Uploaded func(ctx context.Context, id messages.BuildID, name string) error
	Log      zerolog.Logger
}

// Uploads is an http.Handler below Path. It is safe for concurrent use.
type Uploads struct {
	o   Options
	ctx context.Context // ends with Close
	end context.CancelFunc

	// Guarded by mu.
	mu      sync.Mutex
	busy    map[string]int                     // requests by the address of the client
	all     int                                // requests of all clients
	joining map[messages.BuildID]chan struct{} // archives that are being made of parts; closed when that ends
	work    sync.WaitGroup                     // has the requests of all clients; Add is guarded by mu, Wait is not
}

// Path is where a client with the host's address as its endpoint finds the bucket.
const Path = "/" + messages.UploadsBucket + "/"

const (
	partMax   = 64 << 20 // bytes of a part, so that what is written before a check of a sum is bounded
	partsMax  = 10_000
	clientMax = 16      // requests of a client at the same time; aws gamelift upload-build has 10
	busyMax   = 64      // requests of all
	listMax   = 4 << 20 // bytes of the list of parts
	bodyTime  = 15 * time.Minute
	tellTime  = 30 * time.Second
	entryMin  = 4096 // bytes that a file or folder counts at least, whatever is in it
)

// New returns Uploads, which the caller must close.
func New(o Options) *Uploads {
	u := &Uploads{o: o, busy: make(map[string]int), joining: make(map[messages.BuildID]chan struct{})}
	u.ctx, u.end = context.WithCancel(context.Background())
	return u
}

// Close refuses all further requests, and waits for the others. Bodies that are being read must end by themselves, because
// their connections are closed.
func (u *Uploads) Close() {
	u.mu.Lock()
	u.end()
	u.mu.Unlock()
	u.work.Wait()
}

// refusal is an error of S3.
type refusal struct {
	XMLName xml.Name `xml:"Error"`
	Status  int      `xml:"-"`
	Code    string
	Message string
}

// Error implements error.
func (r *refusal) Error() string { return r.Code + ": " + r.Message }

func refuse(status int, code, format string, args ...any) error {
	return &refusal{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// ServeHTTP answers one request of a client of S3.
func (u *Uploads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := u.serve(w, r)
	var refused *refusal
	switch {
	case err == nil:
	case errors.As(err, &refused):
		answer = refused
		w.Header().Set("Connection", "close") // the rest of a body is not read
	case errors.Is(err, fs.ErrNotExist): // a file that another request has taken
		answer = &refusal{Status: http.StatusNotFound, Code: "NoSuchUpload", Message: "there is no such upload: it was completed or aborted, or another one of the build has begun"}
	default:
		u.o.Log.Warn().Err(err).Msg("an upload of a build failed")
		answer = &refusal{Status: http.StatusInternalServerError, Code: "InternalError", Message: "the upload failed; the host's log says why"}
	}
	w.Header().Set("Content-Type", "application/xml")
	if f, ok := answer.(*refusal); ok {
		w.WriteHeader(f.Status)
	}
	if answer != nil {
		_, _ = io.WriteString(w, xml.Header)
		_ = xml.NewEncoder(w).Encode(answer)
	}
}

// Answers of S3.
type (
	begun struct {
		XMLName               xml.Name `xml:"InitiateMultipartUploadResult"`
		Bucket, Key, UploadId string
	}
	completed struct {
		XMLName           xml.Name `xml:"CompleteMultipartUploadResult"`
		Bucket, Key, ETag string
	}
	partList struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Part    []listed
	}
	listed struct {
		PartNumber int
		ETag       string
	}
)

func (u *Uploads) serve(w http.ResponseWriter, r *http.Request) (answer any, err error) {
	key := strings.TrimPrefix(r.URL.Path, Path)
	id := messages.BuildID(strings.TrimSuffix(key, messages.UploadSuffix))
	if key != messages.UploadKey(id) || !u.valid(r.Header.Get("X-Amz-Security-Token"), id) || !filepath.IsLocal(key) || strings.ContainsAny(key, `/\`) {
		return nil, refuse(http.StatusForbidden, "AccessDenied", "the session token is not one of RequestUploadCredentials for this key, or has expired")
	}
	leave, err := u.enter(r.RemoteAddr)
	if err != nil {
		return nil, err
	}
	defer leave()
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "InvalidURI", "the query cannot be read")
	}
	if r.Method == http.MethodPost && q.Has("uploads") || q.Has("partNumber") { // otherwise the whole is here soon, and maybe again
		if err := u.awaits(r.Context(), id); err != nil {
			return nil, err
		}
	}
	if err := makeFolder(u.o.Dir); err != nil {
		return nil, err
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // a part may take longer than a call
	upload := q.Get("uploadId")
	parts := u.name(id, upload)
	if raw, err := hex.DecodeString(upload); q.Has("uploadId") && (err != nil || len(raw) != 16) {
		return nil, fs.ErrNotExist
	}
	switch {
	case r.Method == http.MethodPost && q.Has("uploads"):
		return u.begin(id)
	case r.Method == http.MethodPut && q.Has("partNumber") && q.Has("uploadId"):
		n, err := strconv.Atoi(q.Get("partNumber"))
		if err != nil || n < 1 || n > partsMax {
			return nil, refuse(http.StatusBadRequest, "InvalidArgument", "partNumber must be 1 to %d", partsMax)
		}
		return nil, u.part(w, r, id, parts, n)
	case r.Method == http.MethodPost && q.Has("uploadId"):
		return u.complete(r, upload, id)
	case r.Method == http.MethodDelete && q.Has("uploadId"):
		aborted := parts + "-aborted"
		err := os.Rename(parts, aborted) // no part comes any more
		if err == nil {
			err = os.RemoveAll(aborted)
		}
		if err == nil {
			w.WriteHeader(http.StatusNoContent)
		}
		return nil, err
	case r.Method == http.MethodPut && r.URL.RawQuery == "" || r.Method == http.MethodPut && q.Get("x-id") == "PutObject":
		return nil, u.put(w, r, id)
	}
	return nil, refuse(http.StatusNotImplemented, "NotImplemented", "only uploads are available here")
}

// awaits returns nil if the catalog says that a build takes an upload.
func (u *Uploads) awaits(ctx context.Context, id messages.BuildID) error {
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	defer context.AfterFunc(u.ctx, cancel)()
	return u.refusalOf(u.o.Awaits(ctx, id))
}

// enter counts a request until leave is called.
func (u *Uploads) enter(address string) (leave func(), err error) {
	client, _, _ := net.SplitHostPort(address)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ctx.Err() != nil {
		return nil, refuse(http.StatusServiceUnavailable, "ServiceUnavailable", "the host ends")
	}
	if u.busy[client] >= clientMax || u.all >= busyMax {
		return nil, refuse(http.StatusServiceUnavailable, "SlowDown", "there are %d requests of this client at the same time, or %d of all", clientMax, busyMax)
	}
	u.busy[client]++
	u.all++
	u.work.Add(1)
	return func() {
		defer u.work.Done()
		u.mu.Lock()
		defer u.mu.Unlock()
		u.all--
		if u.busy[client]--; u.busy[client] == 0 {
			delete(u.busy, client)
		}
	}, nil
}

// begunMark is in the names of all that is not an archive yet.
const begunMark = ".upload-"

// name returns the path of a file or folder of a build that is not its archive. Whoever deletes the build's files finds them
// by the part before the dot.
func (u *Uploads) name(id messages.BuildID, rest string) string {
	return filepath.Join(u.o.Dir, string(id)+begunMark+rest)
}

// archive returns the path of an archive of a build. hash is of what makes it another one than other archives of the build.
func (u *Uploads) archive(id messages.BuildID, hash string) string {
	return filepath.Join(u.o.Dir, string(id)+"."+hash+messages.UploadSuffix)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func makeFolder(path string) error {
	err := os.Mkdir(path, 0o700)
	switch {
	case err == nil:
		return syncFolder(filepath.Dir(path))
	case errors.Is(err, fs.ErrExist):
		return nil
	}
	return err
}

// syncFolder makes the names in a folder durable. Windows cannot sync folders.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	if runtime.GOOS != "windows" {
		err = dir.Sync()
	}
	return errors.Join(err, dir.Close())
}

// content is the body of a request. It refuses what it cannot read.
type content struct{ io.Reader }

func (c content) Read(p []byte) (n int, err error) {
	if n, err = c.Reader.Read(p); err != nil && err != io.EOF {
		err = refuse(http.StatusBadRequest, "IncompleteBody", "the body cannot be read: %v", err)
	}
	return n, err
}

// body returns the bytes of a request, without the frames of a body that is signed or checked in chunks.
func body(r *http.Request) io.Reader {
	if strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return content{httputil.NewChunkedReader(r.Body)}
	}
	return content{r.Body}
}

// used returns the bytes of all that is in the bucket.
func (u *Uploads) used() (all int64, err error) {
	err = filepath.WalkDir(u.o.Dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				all += entryMin
				if !d.IsDir() {
					all += max(info.Size()-entryMin, 0)
				}
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // another request has removed it
			return nil
		}
		return err
	})
	return all, err
}

// room returns nil if there is room for more bytes. Before it refuses, it deletes uploads that were given up.
func (u *Uploads) room(more int64) error {
	allMax := u.o.SizeMax * messages.BuildsTimes
	for _, last := range []bool{false, true} {
		switch all, err := u.used(); {
		case err != nil:
			return err
		case all+more < allMax:
			return nil
		case !last:
			if err := u.forget(""); err != nil {
				return err
			}
		}
	}
	return refuse(http.StatusForbidden, "QuotaExceeded", "all uploads have more than %d bytes together: delete builds", allMax)
}

// write writes the body of a request to a new file, of which it returns the name and the hash.
func (u *Uploads) write(r *http.Request, id messages.BuildID, most int64) (name, hash string, err error) {
	if err := u.room(0); err != nil {
		return "", "", err
	}
	to, err := os.CreateTemp(u.o.Dir, filepath.Base(u.name(id, "part-")))
	if err != nil {
		return "", "", err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(to.Name())
		}
	}()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(body(r), most+1))
	if err == nil {
		err = to.Sync()
	}
	if closed := to.Close(); err == nil {
		err = closed
	}
	hash = hex.EncodeToString(sum.Sum(nil))
	switch said := r.Header.Get("X-Amz-Content-Sha256"); {
	case err != nil:
		return "", "", err
	case n > most:
		return "", "", refuse(http.StatusBadRequest, "EntityTooLarge", "there are more than %d bytes", most)
	case len(said) == len(hash) && said != hash:
		return "", "", refuse(http.StatusBadRequest, "XAmzContentSHA256Mismatch", "the bytes are not those that were hashed")
	}
	return to.Name(), hash, nil
}

func etag(hash string) string { return `"` + hash[:32] + `"` }

// publish gives a new file the name of an archive, unless it could not be written. There is no error if another host has made
// the same archive meanwhile, and deleted what it was to be made of.
func publish(file string, err error, archive string) error {
	if err == nil {
		err = os.Rename(file, archive)
	}
	_ = os.Remove(file) // if it still has that name
	if err != nil && exists(archive) {
		return nil
	}
	return err
}

// tell asks the catalog whether an archive is that of its build, which ends all other uploads of the build. It does so even if
// the client has gone.
func (u *Uploads) tell(id messages.BuildID, archive string) error {
	if err := syncFolder(u.o.Dir); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(u.ctx, tellTime)
	defer cancel()
	err := u.refusalOf(u.o.Uploaded(ctx, id, filepath.Base(archive)))
	var refused *refusal
	switch {
	case err == nil:
		if err := u.remove(func(name string, _ time.Time) bool {
			return strings.HasPrefix(name, string(id)+".") && name != filepath.Base(archive)
		}); err != nil {
			u.o.Log.Warn().Err(err).Str("build_id", string(id)).Msg("parts of a build that is uploaded cannot be deleted")
		}
	case errors.As(err, &refused) && refused.Status == http.StatusForbidden:
		_ = os.Remove(archive)
	}
	return err
}

// refusalOf returns the answer to a client for an error of the catalog. SDKs send a request again after a 503.
func (u *Uploads) refusalOf(err error) error {
	var refused *messages.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && (refused.Code == messages.NotFound || refused.Code == messages.Conflict):
		return refuse(http.StatusForbidden, "AccessDenied", "%v", err)
	}
	u.o.Log.Warn().Err(err).Msg("an upload of a build failed, because the catalog did not answer")
	return refuse(http.StatusServiceUnavailable, "ServiceUnavailable", "the host cannot find out now whether the build takes an upload; its log says why")
}

// put takes an archive at once.
func (u *Uploads) put(w http.ResponseWriter, r *http.Request, id messages.BuildID) error {
	file, hash, err := u.write(r, id, min(partMax, u.o.SizeMax))
	if err != nil {
		return err
	}
	archive := u.archive(id, hash)
	if err := publish(file, nil, archive); err != nil {
		return err
	}
	w.Header().Set("ETag", etag(hash))
	return u.tell(id, archive)
}

// forget deletes what was begun of a build, if any is given, and what nobody has gone on with for a day.
func (u *Uploads) forget(id messages.BuildID) error {
	return u.remove(func(name string, changed time.Time) bool {
		of, _, begun := strings.Cut(name, begunMark)
		return begun && (of == string(id) || u.o.Now().Sub(changed) > 24*time.Hour)
	})
}

// remove deletes what is in the bucket.
func (u *Uploads) remove(drop func(name string, changed time.Time) bool) error {
	entries, err := os.ReadDir(u.o.Dir)
	for _, e := range entries {
		if info, failed := e.Info(); failed == nil && drop(e.Name(), info.ModTime()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(u.o.Dir, e.Name())))
		}
	}
	return err
}
