package uploads

import (
	"context"
	"crypto/rand"
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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
)

// Options configure Uploads. They must not change.
type Options struct {
	Dir      string // the folder of the bucket messages.UploadsBucket, which is made when it is needed
	SizeMax  int64  // bytes of an archive; all that is in Dir has messages.BuildsTimes as many at most
	Key      []byte // signs tokens
	Now      func() time.Time
	Awaits   func(ctx context.Context, id messages.BuildID) error // refuses an upload that the build does not wait for
	Uploaded func(ctx context.Context, id messages.BuildID) error // says that the archive of a build is there
	Log      zerolog.Logger
}

// Uploads is an http.Handler below Path. It is safe for concurrent use.
type Uploads struct {
	o    Options
	mu   sync.Mutex
	busy map[string]int // requests by the address of the client; guarded by mu
	all  int            // requests of all clients; guarded by mu
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
)

// New returns Uploads.
func New(o Options) *Uploads { return &Uploads{o: o, busy: make(map[string]int)} }

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
		Part    []struct{ PartNumber int }
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
	if err := u.o.Awaits(r.Context(), id); err != nil {
		return nil, refuse(http.StatusForbidden, "AccessDenied", "%v", err)
	}
	if err := os.MkdirAll(u.o.Dir, 0o700); err != nil {
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
		return u.complete(r, parts, id)
	case r.Method == http.MethodDelete && q.Has("uploadId"):
		mine, err := claim(parts)
		if err == nil {
			err = os.RemoveAll(mine)
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

// enter counts a request until leave is called.
func (u *Uploads) enter(address string) (leave func(), err error) {
	client, _, _ := net.SplitHostPort(address)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.busy[client] >= clientMax || u.all >= busyMax {
		return nil, refuse(http.StatusServiceUnavailable, "SlowDown", "there are %d requests of this client at the same time, or %d of all", clientMax, busyMax)
	}
	u.busy[client]++
	u.all++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.all--
		if u.busy[client]--; u.busy[client] == 0 {
			delete(u.busy, client)
		}
	}, nil
}

// name returns the path of a file or folder of a build that is not its archive. Whoever deletes the build's files finds them
// by the part before the dot.
func (u *Uploads) name(id messages.BuildID, rest string) string {
	return filepath.Join(u.o.Dir, string(id)+".upload-"+rest)
}

func (u *Uploads) archive(id messages.BuildID) string {
	return filepath.Join(u.o.Dir, messages.UploadKey(id))
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
		if err == nil && !d.IsDir() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				all += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // another request has removed it
			return nil
		}
		return err
	})
	return all, err
}

// write writes the body of a request to a new file, of which it returns the name.
func (u *Uploads) write(r *http.Request, id messages.BuildID, most int64) (name, etag string, err error) {
	all, err := u.used()
	if err != nil {
		return "", "", err
	}
	if allMax := u.o.SizeMax * messages.BuildsTimes; all >= allMax {
		return "", "", refuse(http.StatusForbidden, "QuotaExceeded", "all uploads have more than %d bytes together: delete builds", allMax)
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
	hash := hex.EncodeToString(sum.Sum(nil))
	switch said := r.Header.Get("X-Amz-Content-Sha256"); {
	case err != nil:
		return "", "", err
	case n > most:
		return "", "", refuse(http.StatusBadRequest, "EntityTooLarge", "there are more than %d bytes", most)
	case len(said) == len(hash) && said != hash:
		return "", "", refuse(http.StatusBadRequest, "XAmzContentSHA256Mismatch", "the bytes are not those that were hashed")
	}
	return to.Name(), `"` + hash[:32] + `"`, nil
}

// publish makes a file the archive of a build. The first one stays: others may have unpacked it already.
func (u *Uploads) publish(ctx context.Context, file string, id messages.BuildID) error {
	err := os.Link(file, u.archive(id))
	_ = os.Remove(file)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return u.tell(ctx, id)
}

// tell tells the catalog that the archive of a build is there.
func (u *Uploads) tell(ctx context.Context, id messages.BuildID) error {
	err := u.o.Uploaded(ctx, id)
	var refused *messages.Error
	if !errors.As(err, &refused) || refused.Code != messages.NotFound && refused.Code != messages.Conflict {
		return err
	}
	if refused.Code == messages.NotFound { // it was deleted meanwhile
		_ = os.Remove(u.archive(id))
	}
	return refuse(http.StatusForbidden, "AccessDenied", "%v", err)
}

// put takes an archive at once.
func (u *Uploads) put(w http.ResponseWriter, r *http.Request, id messages.BuildID) error {
	file, etag, err := u.write(r, id, min(partMax, u.o.SizeMax))
	if err != nil {
		return err
	}
	w.Header().Set("ETag", etag)
	return u.publish(r.Context(), file, id)
}

// begin begins an upload in parts, and drops an earlier one of the build.
func (u *Uploads) begin(id messages.BuildID) (any, error) {
	if err := u.forget(id); err != nil {
		return nil, err
	}
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails
	upload := hex.EncodeToString(random)
	return &begun{Bucket: messages.UploadsBucket, Key: messages.UploadKey(id), UploadId: upload}, os.Mkdir(u.name(id, upload), 0o700)
}

// forget deletes the parts of a build that are not an archive yet, and what nobody has gone on with for a day.
func (u *Uploads) forget(id messages.BuildID) error {
	entries, err := os.ReadDir(u.o.Dir)
	for _, e := range entries {
		info, failed := e.Info()
		if failed != nil || strings.HasSuffix(e.Name(), messages.UploadSuffix) {
			continue
		}
		if strings.HasPrefix(e.Name(), string(id)+".") || u.o.Now().Sub(info.ModTime()) > 24*time.Hour {
			err = errors.Join(err, os.RemoveAll(filepath.Join(u.o.Dir, e.Name())))
		}
	}
	return err
}

func partName(n int) string { return fmt.Sprintf("%05d", n) }

// part takes one part.
func (u *Uploads) part(w http.ResponseWriter, r *http.Request, id messages.BuildID, parts string, n int) error {
	total := int64(0)
	entries, err := os.ReadDir(parts)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.Name() != partName(n) {
			total += info.Size()
		}
	}
	if total >= u.o.SizeMax {
		return refuse(http.StatusBadRequest, "EntityTooLarge", "there are more than %d bytes", u.o.SizeMax)
	}
	file, etag, err := u.write(r, id, min(partMax, u.o.SizeMax-total))
	if err != nil {
		return err
	}
	if err := os.Rename(file, filepath.Join(parts, partName(n))); err != nil {
		_ = os.Remove(file)
		return err
	}
	w.Header().Set("ETag", etag)
	return nil
}

// complete makes the archive of the parts. One request of several gets them. Each part is deleted once it is in the archive, so
// that an upload takes no more than its own bytes.
func (u *Uploads) complete(r *http.Request, parts string, id messages.BuildID) (any, error) {
	var list partList
	if err := xml.NewDecoder(io.LimitReader(body(r), listMax)).Decode(&list); err != nil || len(list.Part) == 0 || len(list.Part) > partsMax {
		return nil, refuse(http.StatusBadRequest, "MalformedXML", "the list of parts cannot be read")
	}
	total, last := int64(0), 0
	answer := func() any {
		return &completed{Bucket: messages.UploadsBucket, Key: messages.UploadKey(id), ETag: fmt.Sprintf(`"%d-%d"`, total, len(list.Part))}
	}
	if info, err := os.Stat(u.archive(id)); err == nil { // the catalog did not answer before
		total = info.Size()
		_ = os.RemoveAll(parts)
		return answer(), u.tell(r.Context(), id)
	}
	if _, err := os.Stat(parts); err != nil {
		return nil, err
	}
	for _, p := range list.Part {
		if p.PartNumber <= last {
			return nil, refuse(http.StatusBadRequest, "InvalidPartOrder", "the parts are not in their order")
		}
		last = p.PartNumber
		info, err := os.Stat(filepath.Join(parts, partName(p.PartNumber)))
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "InvalidPart", "part %d is not there", p.PartNumber)
		}
		if total += info.Size(); total > u.o.SizeMax {
			return nil, refuse(http.StatusBadRequest, "EntityTooLarge", "there are more than %d bytes", u.o.SizeMax)
		}
	}
	mine, err := claim(parts)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(mine)
	to, err := os.CreateTemp(u.o.Dir, filepath.Base(u.name(id, "whole-")))
	if err != nil {
		return nil, err
	}
	defer os.Remove(to.Name()) // unless it got its name
	for _, p := range list.Part {
		if err = appendTo(to, filepath.Join(mine, partName(p.PartNumber))); err != nil {
			break
		}
	}
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		return nil, err
	}
	return answer(), u.publish(r.Context(), to.Name(), id)
}

// claim takes the parts of an upload away from all other requests.
func claim(parts string) (mine string, err error) {
	mine = parts + "-claimed"
	return mine, os.Rename(parts, mine)
}

// appendTo moves the content of a file to the end of another one.
func appendTo(to io.Writer, name string) error {
	from, err := os.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	return os.Remove(name)
}
