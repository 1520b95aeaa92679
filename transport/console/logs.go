package console

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"time"

	"troupe/messages"
)

const tailBytes = 512 << 10 // maximum bytes that are read for the last lines of a log; pages request them every two seconds

func (c *Console) gameSessionLog(w http.ResponseWriter, r *http.Request, q query) *problem {
	log, whole, p := c.openLog(r.Context(), q, tailBytes)
	if p != nil {
		return p
	}
	defer log.Close()
	last := []string{}
	lines := bufio.NewScanner(io.LimitReader(log, tailBytes)) // limited, because the log may grow while it is read
	lines.Buffer(nil, tailBytes+1)
	for lines.Scan() {
		last = append(last, lines.Text())
	}
	if n := q.numbers["lines"]; len(last) > n {
		last, whole = last[len(last)-n:], false
	}
	return answer(w, struct {
		Lines []string `json:"lines"`
		Whole bool     `json:"whole"` // whether there are no earlier lines
	}{last, whole})
}

const downloadWriteTimeout = 30 * time.Second // maximum time without progress of a download

func (c *Console) downloadLog(w http.ResponseWriter, r *http.Request, q query) *problem {
	log, _, p := c.openLog(r.Context(), q, 0)
	if p != nil {
		return p
	}
	defer log.Close()
	attach(w, path.Base(q.text("id"))+".log", "text/plain; charset=utf-8")
	control := http.NewResponseController(w)
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }()
	for buffer := make([]byte, 64<<10); ; {
		n, err := log.Read(buffer)
		_ = control.SetWriteDeadline(time.Now().Add(downloadWriteTimeout))
		if _, gone := w.Write(buffer[:n]); gone != nil || errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			panic(http.ErrAbortHandler) // cut off the connection, so that the caller notices that the log is incomplete
		}
	}
}

func (c *Console) openLog(ctx context.Context, q query, bytes int64) (log io.ReadCloser, whole bool, p *problem) {
	log, whole, err := c.o.Logs(ctx, messages.GameSessionID(q.text("id")), bytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, refusal(http.StatusNotFound, "NotFound", "there is no log of this game session")
	case err != nil:
		return nil, false, refused(err)
	}
	return log, whole, nil
}

// attach sets headers that make a browser save the response as a file.
func attach(w http.ResponseWriter, name, kind string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
}
