package uploads

import (
	"context"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"fmt"
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

	"troupe/messages"
)

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

// list returns a list of parts, of which the first is aa, the second bb, and so on.
func list(numbers ...int) string {
	text := ""
	for _, n := range numbers {
		text += listedAs(n, strings.Repeat(string(rune('a'+n-1)), 2))
	}
	return listOf(text)
}

func listOf(parts string) string {
	return "<CompleteMultipartUpload>" + parts + "</CompleteMultipartUpload>"
}

func listedAs(n int, part string) string {
	hash := sha256.Sum256([]byte(part))
	return fmt.Sprintf("<Part><ETag>&quot;%x&quot;</ETag><PartNumber>%d</PartNumber></Part>", hash[:16], n)
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
	for n, text := range map[int]string{3: "cc", 1: strings.Repeat("a", 2*third)} {
		if w := b.do("PUT", fmt.Sprintf("%s?partNumber=%d&uploadId=%s", key, n, id), text, hashed(text)); w.Code != 200 || w.Header().Get("ETag") == "" {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	b.refuses("EntityTooLarge", "PUT", key+"?partNumber=2&uploadId="+id, strings.Repeat("b", third-1), nil)
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
	b.has("aacc")
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

// parts begins an upload and sends three parts.
func (b *bucket) parts() string {
	b.Helper()
	id := b.begin()
	for n, text := range []string{"aa", "bb", "cc"} {
		b.takes("PUT", fmt.Sprintf("%s?partNumber=%d&uploadId=%s", key, n+1, id), text, nil)
	}
	return key + "?uploadId=" + id
}

// A client that has waited too long for an answer sends the request again, maybe to another host with the same folder. All requests
// get the same answer.
func TestCompletesAtTheSameTime(t *testing.T) {
	b := open(t)
	path := b.parts()
	other := New(b.o)
	t.Cleanup(other.Close)
	hosts := []*Uploads{b.Uploads, other}
	var work sync.WaitGroup
	for i := range clientMax {
		work.Go(func() { (&bucket{T: t, Uploads: hosts[i%2]}).takes("POST", path, list(1, 2, 3), nil) })
	}
	work.Wait()
	b.has("aabbcc")
	b.refuses("AccessDenied", "POST", path, list(1, 2), nil)
	b.refuses("NoSuchUpload", "DELETE", path, "", nil)
	b.has("aabbcc")
}

// A request waits for another one that makes the archive, unless its client leaves. That the client of the other one leaves changes
// nothing.
func TestACompleteWaitsForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t)
		path := b.parts()
		answers := make(chan *httptest.ResponseRecorder, 9)
		send := func() (leave func()) {
			ctx, leave := context.WithCancel(t.Context())
			go func() {
				answers <- b.do("POST", path, list(1, 2, 3), func(r *http.Request) { *r = *r.WithContext(ctx) })
			}()
			synctest.Wait()
			return leave
		}
		asked, uploaded := make(chan struct{}), b.o.Uploaded
		b.o.Uploaded = func(ctx context.Context, id messages.BuildID, name string) error {
			<-asked
			return uploaded(ctx, id, name)
		}
		leaves := []func(){send(), send(), send()}
		leaves[0]()
		leaves[1]()
		synctest.Wait()
		if w := <-answers; !strings.Contains(w.Body.String(), "ServiceUnavailable") || len(answers) != 0 {
			t.Errorf("%d %s, and %d other answers", w.Code, w.Body, len(answers))
		}
		close(asked)
		for range 2 {
			if w := <-answers; w.Code != 200 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		leaves[2]()
		b.has("aabbcc")
		if len(b.joining) != 0 {
			t.Error(b.joining)
		}
	})
}

// The catalog is asked for tellTime at most, and not longer than the host lives.
func TestTheHostEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t)
		path := b.parts()
		b.o.Uploaded = func(ctx context.Context, _ messages.BuildID, _ string) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			return ctx.Err()
		}
		began := time.Now()
		b.refuses("ServiceUnavailable", "POST", path, list(1, 2, 3), nil)
		if took := time.Since(began); took != tellTime+time.Second {
			t.Error(took)
		}
		go b.refuses("ServiceUnavailable", "POST", path, list(1, 2, 3), nil)
		synctest.Wait()
		began = time.Now()
		b.Close()
		if took := time.Since(began); took != time.Second {
			t.Error(took)
		}
		before := b.files()
		b.refuses("ServiceUnavailable", "PUT", key, "zip", nil)
		if all := b.files(); !slices.Equal(all, before) {
			t.Errorf("%v, before %v", all, before)
		}
	})
}

// An archive of which the host has not copied all parts is not there when it ends. The parts are, for another host.
func TestTheHostEndsWithinACopy(t *testing.T) {
	b := open(t)
	path := b.parts()
	b.end()
	var parts partList
	if err := xml.Unmarshal([]byte(list(1, 2, 3)), &parts); err != nil {
		t.Fatal(err)
	}
	_, id, _ := strings.Cut(path, "uploadId=")
	file, err := b.whole(b.name(build, id), build, &parts)
	archive := b.archive(build, "x")
	if got := publish(file, err, archive); !errors.Is(got, context.Canceled) || len(b.files()) != 3 {
		t.Errorf("%v; %v", got, b.files())
	}
	if err := os.WriteFile(archive, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{err, nil} {
		if got := publish(file, err, archive); got != nil {
			t.Errorf("another host has made it, but: %v", got)
		}
	}
}

// After an error of the host nothing is lost: the client completes the upload again, as SDKs do.
func TestACompleteIsRepeated(t *testing.T) {
	for name, fail := range map[string]func(b *bucket) (mend func()){
		"the catalog is not asked": func(b *bucket) func() {
			b.lost = messages.Errorf(messages.Internal, "no leader")
			return func() { b.lost = nil }
		},
		"the answer is lost": func(b *bucket) func() {
			b.late = messages.Errorf(messages.Internal, "no leader")
			return func() { b.late = nil }
		},
		"a part cannot be read": func(b *bucket) func() {
			part := filepath.Join(b.o.Dir, b.files()[1])
			err := errors.Join(os.Rename(part, part+"x"), os.Mkdir(part, 0o700))
			return func() {
				if err := errors.Join(err, os.Remove(part), os.Rename(part+"x", part)); err != nil {
					b.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			path := b.parts()
			mend := fail(b)
			if w := b.do("POST", path, list(1, 2, 3), nil); w.Code < 500 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			mend()
			for range 2 {
				if w := b.takes("POST", path, list(1, 2, 3), nil); !strings.Contains(w.Body.String(), "-3&#34;</ETag>") {
					t.Error(w.Body)
				}
				b.has("aabbcc")
			}
		})
	}
}

// An archive has the bytes that the list of its parts names, also if a part is sent again after a request that was not answered.
func TestAPartThatIsSentAgain(t *testing.T) {
	b := open(t)
	path := b.parts()
	b.lost = messages.Errorf(messages.Internal, "no leader")
	b.refuses("ServiceUnavailable", "POST", path, list(1, 2, 3), nil)
	b.lost = nil
	b.takes("PUT", strings.Replace(path, "?", "?partNumber=2&", 1), "aa", nil)
	b.takes("POST", path, listOf(listedAs(1, "aa")+listedAs(2, "aa")+listedAs(3, "cc")), nil)
	b.has("aaaacc")
}

// Archives of other parts of one upload take no more room than there is.
func TestArchivesThatTheCatalogHasNotTakenAreLimited(t *testing.T) {
	b := open(t)
	id := b.begin()
	part := strings.Repeat("a", 2*third/10)
	for n := range 10 {
		b.takes("PUT", fmt.Sprintf("%s?partNumber=%d&uploadId=%s", key, n+1, id), part, nil)
	}
	b.lost = messages.Errorf(messages.Internal, "no leader")
	for set := 1023; ; set-- {
		if set == 0 {
			t.Fatal("1,023 archives were made")
		}
		text := ""
		for n := range 10 {
			if set&(1<<n) != 0 {
				text += listedAs(n+1, part)
			}
		}
		w := b.do("POST", key+"?uploadId="+id, listOf(text), nil)
		if strings.Contains(w.Body.String(), "QuotaExceeded") {
			break
		}
		if w.Code != http.StatusServiceUnavailable {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if all, err := b.used(); err != nil || all > b.o.SizeMax*messages.BuildsTimes {
		t.Errorf("%d bytes, %v", all, err)
	}
}

// A catalog that does not answer keeps a request for a limited time, and not after the end of the host.
func TestTheCatalogDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t)
		b.o.Awaits = func(ctx context.Context, _ messages.BuildID) error {
			<-ctx.Done()
			return ctx.Err()
		}
		began := time.Now()
		b.refuses("ServiceUnavailable", "POST", key+"?uploads", "", nil)
		if d := time.Since(began); d != tellTime {
			t.Errorf("after %v", d)
		}
		time.AfterFunc(time.Second, b.Close)
		b.refuses("ServiceUnavailable", "POST", key+"?uploads", "", nil)
		if d := time.Since(began); d != tellTime+time.Second {
			t.Errorf("after %v", d)
		}
	})
}
