package uploads

import (
	"context"
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
	b.refuses("NoSuchUpload", "POST", path, list(1, 2), nil)
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
