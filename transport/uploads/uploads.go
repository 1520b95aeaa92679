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
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
)

// Options configure Uploads. They must not change.
type Options struct {
	Dir      string // the folder of the bucket messages.UploadsBucket, which is made when it is needed
	SizeMax  int64  // bytes of an archive
	Key      []byte // signs tokens
	Now      func() time.Time
	Awaits   func(ctx context.Context, id messages.BuildID) error // refuses an upload that the build does not wait for
	Uploaded func(ctx context.Context, id messages.BuildID) error // says that the archive of a build is there
	Log      zerolog.Logger
}

// Uploads is an http.Handler below Path. It is safe for concurrent use.
type Uploads struct {
	o     Options
	slots chan struct{} // requests with a body
}

// Path is where a client with the host's address as its endpoint finds the bucket.
const Path = "/" + messages.UploadsBucket + "/"

const (
	partMax    = 64 << 20 // bytes of a part, so that what is written before a check of the sum is bounded
	partsMax   = 10_000
	slotsMax   = 16
	listMax    = 4 << 20 // bytes of the list of parts
	bodyTime   = 15 * time.Minute
	tempPrefix = ".upload-"
)

// New returns Uploads.
func New(o Options) *Uploads { return &Uploads{o: o, slots: make(chan struct{}, slotsMax)} }

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
	select {
	case u.slots <- struct{}{}:
		defer func() { <-u.slots }()
	default:
		return nil, refuse(http.StatusServiceUnavailable, "SlowDown", "there are %d uploads at the same time", slotsMax)
	}
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
	parts := filepath.Join(u.o.Dir, tempPrefix+string(id)+"-"+upload)
	if q.Has("uploadId") {
		if raw, err := hex.DecodeString(upload); err != nil || len(raw) != 16 {
			return nil, refuse(http.StatusNotFound, "NoSuchUpload", "there is no such upload")
		}
		if _, err := os.Stat(parts); err != nil {
			return nil, refuse(http.StatusNotFound, "NoSuchUpload", "there is no such upload")
		}
	}
	switch {
	case r.Method == http.MethodPost && q.Has("uploads"):
		return u.begin(id)
	case r.Method == http.MethodPut && q.Has("partNumber") && q.Has("uploadId"):
		n, err := strconv.Atoi(q.Get("partNumber"))
		if err != nil || n < 1 || n > partsMax {
			return nil, refuse(http.StatusBadRequest, "InvalidArgument", "partNumber must be 1 to %d", partsMax)
		}
		return nil, u.part(w, r, parts, n)
	case r.Method == http.MethodPost && q.Has("uploadId"):
		return u.complete(r, parts, id)
	case r.Method == http.MethodDelete && q.Has("uploadId"):
		w.WriteHeader(http.StatusNoContent)
		return nil, os.RemoveAll(parts)
	case r.Method == http.MethodPut && r.URL.RawQuery == "" || r.Method == http.MethodPut && q.Get("x-id") == "PutObject":
		return nil, u.put(w, r, id)
	}
	return nil, refuse(http.StatusNotImplemented, "NotImplemented", "only uploads are available here")
}

// body returns the bytes of a request, without the frames of a body that is signed or checked in chunks.
func body(r *http.Request) io.Reader {
	if strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return httputil.NewChunkedReader(r.Body)
	}
	return r.Body
}

// write writes the body of a request to a new file, of which it returns the name.
func (u *Uploads) write(r *http.Request, most int64) (name, etag string, err error) {
	to, err := os.CreateTemp(u.o.Dir, tempPrefix+"part-")
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
	name := filepath.Join(u.o.Dir, messages.UploadKey(id))
	err := os.Link(file, name)
	_ = os.Remove(file)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	err = u.o.Uploaded(ctx, id)
	var refused *messages.Error
	if !errors.As(err, &refused) || refused.Code != messages.NotFound && refused.Code != messages.Conflict {
		return err
	}
	if refused.Code == messages.NotFound { // it was deleted meanwhile
		_ = os.Remove(name)
	}
	return refuse(http.StatusForbidden, "AccessDenied", "%v", err)
}

// put takes an archive at once.
func (u *Uploads) put(w http.ResponseWriter, r *http.Request, id messages.BuildID) error {
	file, etag, err := u.write(r, min(partMax, u.o.SizeMax))
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
	return &begun{Bucket: messages.UploadsBucket, Key: messages.UploadKey(id), UploadId: upload}, os.Mkdir(filepath.Join(u.o.Dir, tempPrefix+string(id)+"-"+upload), 0o700)
}

// forget deletes the parts of a build that are not an archive yet, and what nobody has gone on with for a day.
func (u *Uploads) forget(id messages.BuildID) error {
	entries, err := os.ReadDir(u.o.Dir)
	for _, e := range entries {
		info, failed := e.Info()
		if failed != nil || !strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		if strings.HasPrefix(e.Name(), tempPrefix+string(id)+"-") || u.o.Now().Sub(info.ModTime()) > 24*time.Hour {
			err = errors.Join(err, os.RemoveAll(filepath.Join(u.o.Dir, e.Name())))
		}
	}
	return err
}

func partName(n int) string { return fmt.Sprintf("%05d", n) }

// part takes one part.
func (u *Uploads) part(w http.ResponseWriter, r *http.Request, parts string, n int) error {
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
	file, etag, err := u.write(r, min(partMax, u.o.SizeMax-total))
	if err != nil {
		return err
	}
	w.Header().Set("ETag", etag)
	return os.Rename(file, filepath.Join(parts, partName(n)))
}

// complete makes the archive of the parts.
func (u *Uploads) complete(r *http.Request, parts string, id messages.BuildID) (any, error) {
	var list partList
	if err := xml.NewDecoder(io.LimitReader(body(r), listMax)).Decode(&list); err != nil || len(list.Part) == 0 || len(list.Part) > partsMax {
		return nil, refuse(http.StatusBadRequest, "MalformedXML", "the list of parts cannot be read")
	}
	to, err := os.CreateTemp(u.o.Dir, tempPrefix+"whole-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(to.Name()) // unless it got its name
	total, last := int64(0), 0
	for _, p := range list.Part {
		if p.PartNumber <= last {
			err = refuse(http.StatusBadRequest, "InvalidPartOrder", "the parts are not in their order")
			break
		}
		last = p.PartNumber
		n, failed := appendTo(to, filepath.Join(parts, partName(p.PartNumber)))
		if errors.Is(failed, fs.ErrNotExist) {
			failed = refuse(http.StatusBadRequest, "InvalidPart", "part %d is not there", p.PartNumber)
		}
		if err = failed; err != nil {
			break
		}
		if total += n; total > u.o.SizeMax {
			err = refuse(http.StatusBadRequest, "EntityTooLarge", "there are more than %d bytes", u.o.SizeMax)
			break
		}
	}
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = u.publish(r.Context(), to.Name(), id)
	}
	if err != nil {
		return nil, err
	}
	return &completed{Bucket: messages.UploadsBucket, Key: messages.UploadKey(id), ETag: fmt.Sprintf(`"%d-%d"`, total, len(list.Part))}, os.RemoveAll(parts)
}

func appendTo(to io.Writer, name string) (int64, error) {
	from, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	return io.Copy(to, from)
}
