package ops

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// An archive is whole if the log was read to its end, or to the end of the waiting for
// one that is still written.
func TestArchiveOfALogThatDoesNotEnd(t *testing.T) {
	for err, whole := range map[error]bool{io.EOF: true, context.DeadlineExceeded: true, context.Canceled: false, errors.New("disk"): false} {
		w := httptest.NewRecorder()
		l := &Logs{now: time.Now}
		l.sendZip(w, io.MultiReader(strings.NewReader("a line\n"), iotest.ErrReader(err)), "x.log")
		_, bad := zip.NewReader(bytes.NewReader(w.Body.Bytes()), int64(w.Body.Len()))
		if (bad == nil) != whole {
			t.Errorf("%v: %v", err, bad)
		}
	}
}
