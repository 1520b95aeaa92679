package uploads

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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

// bucket is Uploads whose catalog waits for the archive of build.
type bucket struct {
	*Uploads
	*testing.T
	now    time.Time
	awaits error

	mu   sync.Mutex
	late error // the answer to Uploaded; guarded by mu
	told []messages.BuildID
}

func open(t *testing.T) *bucket {
	b := &bucket{T: t, now: time.Now()}
	b.Uploads = New(Options{
		Dir: filepath.Join(t.TempDir(), "bucket"), SizeMax: 30, Key: []byte("key"), Now: func() time.Time { return b.now },
		Awaits: func(context.Context, messages.BuildID) error { return b.awaits },
		Uploaded: func(_ context.Context, id messages.BuildID) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.told = append(b.told, id)
			return b.late
		},
	})
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

func (b *bucket) archive(want string) {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(b.o.Dir, "build-1.zip"))
	if err != nil || string(text) != want || len(b.told) != 1 || b.told[0] != build || len(b.files()) != 1 {
		b.Errorf("%q, %v; told of %v; files %v", text, err, b.told, b.files())
	}
}

const key = Path + "build-1.zip"

func hashed(text string) func(*http.Request) {
	sum := sha256.Sum256([]byte(text))
	return func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:])) }
}

func TestAnArchiveAtOnce(t *testing.T) {
	b := open(t)
	b.refuses("EntityTooLarge", "PUT", key, strings.Repeat("x", 31), nil)
	b.refuses("XAmzContentSHA256Mismatch", "PUT", key, "other", hashed("zip"))
	if all := b.files(); len(all) != 0 || len(b.told) != 0 {
		t.Errorf("files %v, told of %v", all, b.told)
	}
	if w := b.do("PUT", key, "zip", hashed("zip")); w.Code != 200 || w.Header().Get("ETag") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	b.archive("zip")
}

// Another upload that began before the first one was complete does not replace it, and leaves nothing of a deleted build.
func TestUploadsThatComeTooLate(t *testing.T) {
	b := open(t)
	if w := b.do("PUT", Path+"build-1.zip", "first", nil); w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	b.late = messages.Errorf(messages.Conflict, "it has its archive")
	b.refuses("AccessDenied", "PUT", Path+"build-1.zip", "second", nil)
	b.told = b.told[1:]
	b.archive("first")
	b = open(t)
	b.late = messages.Errorf(messages.NotFound, "it is deleted")
	b.refuses("AccessDenied", "PUT", Path+"build-1.zip", "first", nil)
	if all := b.files(); len(all) != 0 {
		t.Error(all)
	}
}

func TestAnArchiveInChunks(t *testing.T) {
	b := open(t)
	chunked := func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER") }
	if w := b.do("PUT", key+"?x-id=PutObject", "2\r\nzi\r\n1;chunk-signature=0a\r\np\r\n0\r\nx-amz-checksum-crc32:AAAA\r\n\r\n", chunked); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	b.archive("zip")
}

func (b *bucket) begin() string {
	b.Helper()
	w := b.do("POST", key+"?uploads", "", nil)
	_, rest, _ := strings.Cut(w.Body.String(), "<UploadId>")
	id, _, ok := strings.Cut(rest, "</UploadId>")
	if w.Code != 200 || !ok {
		b.Fatalf("%d %s", w.Code, w.Body)
	}
	return id
}

func list(numbers ...int) string {
	text := "<CompleteMultipartUpload>"
	for _, n := range numbers {
		text += fmt.Sprintf("<Part><ETag>x</ETag><PartNumber>%d</PartNumber></Part>", n)
	}
	return text + "</CompleteMultipartUpload>"
}

func TestAnArchiveInParts(t *testing.T) {
	b := open(t)
	first := b.begin()
	id := b.begin() // drops the first
	b.refuses("NoSuchUpload", "PUT", key+"?partNumber=1&uploadId="+first, "x", nil)
	b.refuses("NoSuchUpload", "PUT", key+"?partNumber=1&uploadId=../..", "x", nil)
	for _, n := range []string{"0", "10001", "-1", "../x", ""} {
		b.refuses("InvalidArgument", "PUT", key+"?partNumber="+n+"&uploadId="+id, "x", nil)
	}
	for n, text := range map[int]string{3: "cc", 1: strings.Repeat("a", 20)} {
		if w := b.do("PUT", fmt.Sprintf("%s?partNumber=%d&uploadId=%s", key, n, id), text, hashed(text)); w.Code != 200 || w.Header().Get("ETag") == "" {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	b.refuses("EntityTooLarge", "PUT", key+"?partNumber=2&uploadId="+id, strings.Repeat("b", 9), nil)
	if w := b.do("PUT", key+"?partNumber=1&uploadId="+id, "aa", nil); w.Code != 200 { // again
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	b.refuses("InvalidPart", "POST", key+"?uploadId="+id, list(1, 2, 3), nil)
	b.refuses("InvalidPartOrder", "POST", key+"?uploadId="+id, list(3, 1), nil)
	b.refuses("MalformedXML", "POST", key+"?uploadId="+id, "<x>", nil)
	b.refuses("MalformedXML", "POST", key+"?uploadId="+id, list(), nil)
	if w := b.do("POST", key+"?uploadId="+id, list(1, 3), nil); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	b.archive("aacc")
	b = open(t)
	id = b.begin()
	if w := b.do("DELETE", key+"?uploadId="+id, "", nil); w.Code != http.StatusNoContent {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	b.refuses("NoSuchUpload", "POST", key+"?uploadId="+id, list(1), nil)
	b.refuses("NoSuchUpload", "DELETE", key+"?uploadId="+id, "", nil)
	b.refuses("NoSuchUpload", "PUT", key+"?partNumber=1&uploadId="+id, "x", nil)
	if all := b.files(); len(all) != 0 {
		t.Error(all)
	}
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

// No client can keep others out.
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

// Of several requests that complete an upload, one makes the archive. The others write nothing.
func TestCompletesAtTheSameTime(t *testing.T) {
	b := open(t)
	id := b.begin()
	for n, text := range []string{"aa", "bb", "cc"} {
		if w := b.do("PUT", fmt.Sprintf("%s?partNumber=%d&uploadId=%s", key, n+1, id), text, nil); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	parts := b.name(build, id)
	mine, err := claim(parts) // as a request does that has come first
	if err != nil {
		t.Fatal(err)
	}
	b.refuses("NoSuchUpload", "POST", key+"?uploadId="+id, list(1, 2, 3), nil)
	b.refuses("NoSuchUpload", "PUT", key+"?partNumber=4&uploadId="+id, "dd", nil)
	b.refuses("NoSuchUpload", "DELETE", key+"?uploadId="+id, "", nil)
	if err := os.Rename(mine, parts); err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	for range clientMax {
		work.Go(func() {
			w := b.do("POST", key+"?uploadId="+id, list(1, 2, 3), nil)
			switch {
			case w.Code == 200, strings.Contains(w.Body.String(), "<Code>NoSuchUpload</Code>"), strings.Contains(w.Body.String(), "<Code>InvalidPart</Code>"):
			default:
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	work.Wait()
	b.told = slices.Compact(b.told) // those who find the archive tell the catalog again, which takes the first
	b.archive("aabbcc")
}

// If the catalog does not answer, the client completes the upload again, as SDKs do after an error of the server.
func TestACompleteIsRepeated(t *testing.T) {
	b := open(t)
	id := b.begin()
	b.do("PUT", key+"?partNumber=1&uploadId="+id, "zip", nil)
	b.late = messages.Errorf(messages.Internal, "no leader")
	b.refuses("InternalError", "POST", key+"?uploadId="+id, list(1), nil)
	b.late, b.told = nil, nil
	if w := b.do("POST", key+"?uploadId="+id, list(1), nil); w.Code != 200 || !strings.Contains(w.Body.String(), "3-1") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	b.archive("zip")
}

// All that is uploaded is limited, too, whatever the builds are.
func TestAllUploadsTogetherAreLimited(t *testing.T) {
	b := open(t)
	for i := range messages.BuildsTimes {
		id := messages.BuildID(fmt.Sprint("build-", i))
		if w := b.do("PUT", Path+messages.UploadKey(id), strings.Repeat("x", 30), b.as(id)); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	b.refuses("QuotaExceeded", "PUT", Path+"build-more.zip", "x", b.as("build-more"))
	if err := os.Remove(filepath.Join(b.o.Dir, "build-3.zip")); err != nil {
		t.Fatal(err)
	}
	if w := b.do("PUT", Path+"build-more.zip", "x", b.as("build-more")); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
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
	if all := b.files(); len(all) != 0 || len(b.told) != 0 {
		t.Error(all, b.told)
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
	b.awaits = errors.New("it is READY")
	b.refuses("AccessDenied", "PUT", key, "zip", nil)
	b.awaits = nil
	if len(b.told) != 0 || len(b.files()) != 0 {
		t.Errorf("told of %v, files %v", b.told, b.files())
	}
}

// What nobody has gone on with for a day is deleted.
func TestUploadsThatWereGivenUp(t *testing.T) {
	b := open(t)
	b.begin()
	for _, name := range []string{b.name(build, "part-1"), b.Uploads.archive("build-3")} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.now = b.now.Add(25 * time.Hour)
	if w := b.do("POST", Path+"build-2.zip?uploads", "", b.as("build-2")); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if entries, err := os.ReadDir(b.o.Dir); err != nil || len(entries) != 2 || !strings.HasPrefix(entries[0].Name(), "build-2.") || entries[1].Name() != "build-3.zip" {
		t.Errorf("%v, %v", entries, err)
	}
}

// FuzzUpload: whatever a client with a token sends, only files of the bucket are written, and none over the limit.
func FuzzUpload(f *testing.F) {
	f.Add("PUT", "", "zip", "")
	f.Add("POST", "uploads", "", "")
	f.Add("PUT", "partNumber=1&uploadId=00112233445566778899aabbccddeeff", "zip", "STREAMING-X")
	f.Add("POST", "uploadId=00112233445566778899aabbccddeeff", "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber></Part></CompleteMultipartUpload>", "")
	f.Fuzz(func(t *testing.T, method, query, text, hash string) {
		b := open(t)
		parts := b.name(build, "00112233445566778899aabbccddeeff")
		if err := os.MkdirAll(parts, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(parts, partName(1)), []byte("part"), 0o600); err != nil {
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
