package uploads

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"troupe/messages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const build = messages.BuildID("build-1")

// bucket is Uploads with the catalog, which says whether build waits for its archive.
type bucket struct {
	*Uploads
	*testing.T
	now time.Time

	mu     sync.Mutex
	taken  string // the name of the archive that the catalog has taken first, as of build; guarded by mu
	awaits error  // what Awaits answers otherwise; guarded by mu, like late
	late   error  // what Uploaded answers although it has done its work
	lost   error  // what Uploaded answers before that
}

const (
	sizeMax = 30_000
	third   = sizeMax / 3
)

func open(t *testing.T) *bucket {
	b := &bucket{T: t, now: time.Now()}
	taken := func(name string) error {
		if b.taken != "" && b.taken != name {
			return messages.Errorf(messages.Conflict, "it has its archive")
		}
		return nil
	}
	b.Uploads = New(Options{
		Dir: filepath.Join(t.TempDir(), "bucket"), SizeMax: sizeMax, Key: []byte("key"), Now: func() time.Time { return b.now },
		Awaits: func(context.Context, messages.BuildID) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			return cmp.Or(b.awaits, taken(""))
		},
		Uploaded: func(ctx context.Context, id messages.BuildID, name string) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			err := cmp.Or(ctx.Err(), b.lost, taken(name))
			if err == nil && id == build {
				b.taken, err = name, b.late
			}
			return err
		},
	})
	t.Cleanup(b.Close)
	return b
}

// do sends a request with a valid token.
func (b *bucket) do(method, path, text string, change func(*http.Request)) *httptest.ResponseRecorder {
	b.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(text))
	r.Header.Set("X-Amz-Security-Token", b.Token(build))
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

func (b *bucket) refuses(code, method, path, text string, change func(*http.Request)) {
	b.Helper()
	if w := b.do(method, path, text, change); w.Code < 400 || !strings.Contains(w.Body.String(), "<Code>"+code+"</Code>") {
		b.Errorf("%s %s: %d %s, want %s", method, path, w.Code, w.Body, code)
	}
}

// files returns the names of all files of the bucket.
func (b *bucket) files() (all []string) {
	_ = filepath.WalkDir(b.o.Dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(b.o.Dir, path)
			all = append(all, name)
		}
		return nil
	})
	return all
}

// has demands that the catalog has taken an archive, and that nothing else is there.
func (b *bucket) has(want string) {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(b.o.Dir, b.taken))
	if entries, _ := os.ReadDir(b.o.Dir); err != nil || string(text) != want || len(entries) != 1 || !strings.HasPrefix(b.taken, "build-1.") || !strings.HasSuffix(b.taken, ".zip") {
		b.Errorf("%q, %v; the catalog has taken %q; there are %v", text, err, b.taken, entries)
	}
}

// takes demands that a request is answered with 200.
func (b *bucket) takes(method, path, text string, change func(*http.Request)) *httptest.ResponseRecorder {
	b.Helper()
	w := b.do(method, path, text, change)
	if w.Code != 200 {
		b.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return w
}

const key = Path + "build-1.zip"

func hashed(text string) func(*http.Request) {
	sum := sha256.Sum256([]byte(text))
	return func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:])) }
}

func TestAnArchiveAtOnce(t *testing.T) {
	b := open(t)
	b.refuses("EntityTooLarge", "PUT", key, strings.Repeat("x", sizeMax+1), nil)
	b.refuses("XAmzContentSHA256Mismatch", "PUT", key, "other", hashed("zip"))
	if all := b.files(); len(all) != 0 || b.taken != "" {
		t.Errorf("files %v, taken %q", all, b.taken)
	}
	if w := b.takes("PUT", key, "zip", hashed("zip")); w.Header().Get("ETag") == "" {
		t.Error("no ETag")
	}
	b.has("zip")
}

// The catalog takes one archive of a build. Another upload that began before that does not replace it, and leaves nothing, nor does
// one of a deleted build. The same upload may be repeated, because its answer may be lost.
func TestTheCatalogTakesOneArchive(t *testing.T) {
	b := open(t)
	id := b.begin()
	b.takes("PUT", key+"?partNumber=1&uploadId="+id, "parts", nil)
	b.takes("PUT", key, "first", nil)
	b.has("first") // no parts
	b.refuses("AccessDenied", "PUT", key, "second", nil)
	b.refuses("AccessDenied", "POST", key+"?uploadId="+id, list(1), nil)
	b.refuses("AccessDenied", "PUT", key+"?partNumber=2&uploadId="+id, "parts", nil)
	b.refuses("AccessDenied", "POST", key+"?uploads", "", nil)
	b.takes("PUT", key, "first", nil)
	b.has("first")
	b = open(t)
	b.lost = messages.Errorf(messages.NotFound, "it is deleted")
	b.refuses("AccessDenied", "PUT", key, "first", nil)
	if all := b.files(); len(all) != 0 {
		t.Error(all)
	}
}

// While the catalog has not taken an archive, another one can be uploaded.
func TestAnArchiveThatTheCatalogHasNotTaken(t *testing.T) {
	b := open(t)
	b.lost = messages.Errorf(messages.Internal, "no leader")
	b.refuses("ServiceUnavailable", "PUT", key, "v1", nil)
	b.lost = nil
	b.takes("PUT", key, "v2", nil)
	b.has("v2")
}

func TestAnArchiveInChunks(t *testing.T) {
	b := open(t)
	chunked := func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER") }
	if w := b.do("PUT", key+"?x-id=PutObject", "2\r\nzi\r\n1;chunk-signature=0a\r\np\r\n0\r\nx-amz-checksum-crc32:AAAA\r\n\r\n", chunked); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	b.has("zip")
}

// blocked sends a part whose body has not come yet. It ends when the body is closed.
func (b *bucket) blocked(address, id string) (body io.Closer, answer chan *httptest.ResponseRecorder) {
	from, to := io.Pipe()
	answer = make(chan *httptest.ResponseRecorder, 1)
	go func() {
		answer <- b.do("PUT", key+"?partNumber=1&uploadId="+id, "", func(r *http.Request) { r.Body, r.RemoteAddr = from, address })
	}()
	synctest.Wait()
	return to, answer
}

// A client has 16 requests at the same time, and all have 64.
func TestRequestsAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t)
		id := b.begin()
		var bodies []io.Closer
		send := func(address string, n int, refused bool) {
			t.Helper()
			for range n {
				body, answer := b.blocked(address, id)
				bodies = append(bodies, body)
				select {
				case w := <-answer:
					if !refused || !strings.Contains(w.Body.String(), "<Code>SlowDown</Code>") {
						t.Errorf("%s: %d %s", address, w.Code, w.Body)
					}
				default:
					if refused {
						t.Errorf("%s is not refused", address)
					}
				}
			}
		}
		send("192.0.2.1:1", clientMax, false)
		send("192.0.2.1:2", 1, true)
		for i := 2; i <= busyMax/clientMax; i++ {
			send(fmt.Sprintf("192.0.2.%d:1", i), clientMax, false)
		}
		send("192.0.2.9:1", 1, true)
		for _, body := range bodies {
			body.Close()
		}
		synctest.Wait()
		body, answer := b.blocked("192.0.2.1:3", id)
		body.Close()
		if w := <-answer; w.Code != 200 || len(b.busy) != 0 || b.all != 0 {
			t.Errorf("%d %s, %v", w.Code, w.Body, b.busy)
		}
	})
}

// All that is uploaded is limited, too, whatever the builds are.
func TestAllUploadsTogetherAreLimited(t *testing.T) {
	b := open(t)
	put := func(id messages.BuildID) string { return Path + messages.UploadKey(id) }
	for i := range messages.BuildsTimes {
		id := messages.BuildID(fmt.Sprint("build-", i+2))
		b.takes("PUT", put(id), strings.Repeat("x", sizeMax), b.as(id))
	}
	b.refuses("QuotaExceeded", "PUT", put("build-more"), "x", b.as("build-more"))
	archives, _ := filepath.Glob(filepath.Join(b.o.Dir, "build-3.*.zip"))
	if err := os.Rename(archives[0], b.name("build-3", "part-1")); err != nil {
		t.Fatal(err)
	}
	b.refuses("QuotaExceeded", "PUT", put("build-more"), "x", b.as("build-more"))
	b.now = b.now.Add(25 * time.Hour) // what was begun is old enough to be deleted
	b.takes("PUT", put("build-more"), "x", b.as("build-more"))
}

// Files and folders without bytes are limited, too.
func TestEmptyFilesAreLimited(t *testing.T) {
	b := open(t)
	id := b.begin()
	most := sizeMax*messages.BuildsTimes/entryMin - 1 // and two folders
	for n := range most {
		b.takes("PUT", fmt.Sprintf("%s?partNumber=%d&uploadId=%s", key, n+1, id), "", nil)
	}
	b.refuses("QuotaExceeded", "PUT", fmt.Sprintf("%s?partNumber=%d&uploadId=%s", key, most+1, id), "", nil)
}

func (b *bucket) as(id messages.BuildID) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("X-Amz-Security-Token", b.Token(id)) }
}

// A body that ends too early, or has no chunks, is an error of the client.
func TestBodiesThatCannotBeRead(t *testing.T) {
	b := open(t)
	streaming := func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", "STREAMING-X") }
	for _, text := range []string{"zip", "5\r\nzi", "zz\r\nzip\r\n"} {
		b.refuses("IncompleteBody", "PUT", key, text, streaming)
	}
	if all := b.files(); len(all) != 0 || b.taken != "" {
		t.Error(all, b.taken)
	}
}

func TestUploadsAreRefused(t *testing.T) {
	b := open(t)
	token := func(text string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("X-Amz-Security-Token", text) }
	}
	for _, text := range []string{"", "x", b.Token("build-2"), b.Token(build) + "A", "B" + b.Token(build)[1:], b.Token(build)[1:]} {
		b.refuses("AccessDenied", "PUT", key, "zip", token(text))
	}
	for _, path := range []string{"build-2.zip", "build-1", "build-1.zip/x", "../build-1.zip", "", ".zip"} {
		b.refuses("AccessDenied", "PUT", Path+path, "zip", nil)
	}
	old := b.Token(build)
	b.now = b.now.Add(tokenLife)
	b.refuses("AccessDenied", "PUT", key, "zip", token(old))
	for _, method := range []string{"GET", "HEAD", "POST", "DELETE"} {
		if w := b.do(method, key, "", nil); w.Code != http.StatusNotImplemented {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	for _, c := range []struct {
		err  error
		code string
	}{
		{messages.Errorf(messages.Conflict, "it is READY"), "AccessDenied"},
		{&messages.FromNode{Refusal: messages.Errorf(messages.NotFound, "it is deleted")}, "AccessDenied"},
		{messages.Errorf(messages.Unavailable, "the host is draining"), "ServiceUnavailable"}, // SDKs try again
		{context.DeadlineExceeded, "ServiceUnavailable"},
	} {
		b.awaits, b.lost = c.err, c.err
		b.refuses(c.code, "POST", key+"?uploads", "", nil)
		b.refuses(c.code, "PUT", key+"?partNumber=1&uploadId=00112233445566778899aabbccddeeff", "x", nil)
		b.refuses(c.code, "PUT", key, "zip", nil)
	}
	if all := b.files(); b.taken != "" || len(all) > 1 { // the catalog may have taken it, for all that the host knows
		t.Errorf("taken %q, files %v", b.taken, all)
	}
}

// What nobody has gone on with for a day is deleted, but no archives, and nothing of the operator's.
func TestUploadsThatWereGivenUp(t *testing.T) {
	b := open(t)
	b.begin()
	for _, name := range []string{b.name(build, "part-1"), b.archive("build-3", "x"), filepath.Join(b.o.Dir, "notes")} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.now = b.now.Add(25 * time.Hour)
	b.takes("POST", Path+"build-2.zip?uploads", "", b.as("build-2"))
	var names []string
	entries, err := os.ReadDir(b.o.Dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || len(names) != 3 || !strings.HasPrefix(names[0], "build-2.upload-") || !slices.Equal(names[1:], []string{"build-3.x.zip", "notes"}) {
		t.Errorf("%v, %v", names, err)
	}
}

// FuzzUpload: whatever a client with a token sends, only files of the bucket are written, and none over the limit.
func FuzzUpload(f *testing.F) {
	f.Add("PUT", "", "zip", "")
	f.Add("POST", "uploads", "", "")
	f.Add("PUT", "partNumber=1&uploadId=00112233445566778899aabbccddeeff", "zip", "STREAMING-X")
	f.Add("POST", "uploadId=00112233445566778899aabbccddeeff", "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>00000000000000000000000000000001</ETag></Part></CompleteMultipartUpload>", "")
	f.Fuzz(func(t *testing.T, method, query, text, hash string) {
		b := open(t)
		parts := b.name(build, "00112233445566778899aabbccddeeff")
		if err := os.MkdirAll(parts, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(parts, partName(1, fmt.Sprintf("%032x", 1))), []byte("part"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("PUT", key, strings.NewReader(text))
		r.Method, r.URL.RawQuery = method, query
		r.Header.Set("X-Amz-Security-Token", b.Token(build))
		r.Header.Set("X-Amz-Content-Sha256", hash)
		w := httptest.NewRecorder()
		b.ServeHTTP(w, r)
		if w.Code >= 500 && w.Code != http.StatusNotImplemented {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if around, _ := os.ReadDir(filepath.Dir(b.o.Dir)); len(around) != 1 {
			t.Errorf("beside the bucket: %v", around)
		}
		for _, name := range b.files() {
			if !strings.HasPrefix(name, string(build)+".") {
				t.Errorf("%s is not found when the build is deleted", name)
			}
			info, err := os.Stat(filepath.Join(b.o.Dir, name))
			if err != nil || info.Size() > b.o.SizeMax {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
	})
}
