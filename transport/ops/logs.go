package ops

import (
	"archive/zip"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"troupe/actors/sessionlog"
	"troupe/messages"
)

const (
	logPath      = "/gamesession-logs"      // serves a log to holders of a signed URL
	debugLogPath = "/debug/gamesession-log" // serves any log to operators
	logURLLife   = 15 * time.Minute         // how long a signed URL is valid (service-api.md 2.6)
	logEndWait   = 3 * time.Second          // how long to wait for the last lines of the log of a game session that has just ended
	// The formats of a signed URL (&format=...). The zip is for compatibility: GameLift serves one, and the
	// AWS CLI saves it.
	formatZip  = "zip"
	formatText = "text"
	// idsShort is the value of the query parameter ids for logs with shortened player session ids.
	idsShort = "short"
)

// Logs serves the logs of game sessions. It is safe for concurrent use.
type Logs struct {
	store *sessionlog.Store
	base  string
	key   []byte // signs URLs
	now   func() time.Time
	// elsewhere opens the log of a game session of another node, see NewLogs; nil without a cluster
	elsewhere Elsewhere
}

// Elsewhere opens the log of a game session that another node of a cluster has run. tail is that of coord.ReadLog. For
// the duration of follow, the log does not end before the game session's. ctx is that of the whole download. The error
// is fs.ErrNotExist if there is no log, or if that node is lost. Other errors are those of a messages.Error, for example
// because the node does not answer.
type Elsewhere func(ctx context.Context, id messages.GameSessionID, tail int64, follow time.Duration) (log io.ReadCloser, whole bool, err error)

// NewLogs returns the pages for the logs in a store. base is the URL of the server, for example
// http://127.0.0.1:8080.
func NewLogs(store *sessionlog.Store, base string, now func() time.Time) *Logs {
	l := &Logs{store: store, base: base, key: make([]byte, sha256.Size), now: now}
	_, _ = rand.Read(l.key) // never fails
	return l
}

// Share makes l serve the logs of all nodes of a cluster. key is the same on all of them, so that each accepts the URLs
// of the others. Call it before l is used.
func (l *Logs) Share(key []byte, elsewhere Elsewhere) { l.key, l.elsewhere = key, elsewhere }

// URL returns a signed URL for the log of an ended game session. The error is fs.ErrNotExist if there is no
// log, or if it has been deleted, or that of Elsewhere. The URL serves a zip, or plain text if &format=text is appended. With short,
// player session ids are shortened. The URL is valid for 15 minutes, but without a cluster only while this process
// runs.
func (l *Logs) URL(ctx context.Context, g *messages.GameSession, short bool) (string, error) {
	now := l.now()
	if now.Sub(g.Terminated) > l.store.Keep() {
		return "", fs.ErrNotExist
	}
	if !l.store.Has(g.ID) {
		if l.elsewhere == nil {
			return "", fs.ErrNotExist
		}
		log, _, err := l.elsewhere(ctx, g.ID, 1, 0)
		if err != nil {
			return "", err
		}
		log.Close()
	}
	expires := strconv.FormatInt(now.Add(logURLLife).Unix(), 10)
	// Colons and slashes may stay unescaped in a query, which keeps the URL short.
	id := strings.NewReplacer("%3A", ":", "%2F", "/").Replace(url.QueryEscape(string(g.ID)))
	ids, query := "", "?id="+id+"&expires="+expires
	if short {
		ids = idsShort
		query += "&ids=" + ids
	}
	return l.base + logPath + query + "&signature=" + l.sign(string(g.ID), expires, ids), nil
}

func (l *Logs) sign(id, expires, ids string) string {
	mac := hmac.New(sha256.New, l.key)
	mac.Write([]byte(expires + "\n" + ids + "\n" + id))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// allowed verifies a signed URL. Neither the response nor its timing reveals why a URL is refused.
func (l *Logs) allowed(q url.Values) bool {
	id, expires := q.Get("id"), q.Get("expires")
	signed := hmac.Equal([]byte(q.Get("signature")), []byte(l.sign(id, expires, q.Get("ids"))))
	until, err := strconv.ParseInt(expires, 10, 64)
	current := err == nil && l.now().Unix() < until
	return signed && current
}

func (l *Logs) serveSigned(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if !l.allowed(q) {
		answer(w, http.StatusForbidden, "the URL is not valid, or not any more")
		return
	}
	format := q.Get("format")
	if format != "" && format != formatZip && format != formatText {
		answer(w, http.StatusBadRequest, "format is zip or text")
		return
	}
	l.send(r.Context(), w, messages.GameSessionID(q.Get("id")), sending{wait: logEndWait, attach: cmp.Or(format, formatZip), short: q.Get("ids") == idsShort})
}

func (l *Logs) serveDebug(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("id") == "" {
		l.list(w, q.Get("all") == "1")
		return
	}
	switch found := l.find(q.Get("id")); len(found) {
	case 0:
		answer(w, http.StatusNotFound, "there is no log of this game session")
	case 1:
		l.send(r.Context(), w, found[0], sending{follow: q.Get("follow") == "1"})
	default:
		text := "several game sessions have that id:"
		for _, id := range found {
			text += "\n" + string(id)
		}
		answer(w, http.StatusConflict, text)
	}
}

// find returns the game session with the given id. If there is none, it returns those whose last segment
// equals id, or else those whose last segment begins with id.
func (l *Logs) find(id string) (found []messages.GameSessionID) {
	if l.store.Has(messages.GameSessionID(id)) {
		return []messages.GameSessionID{messages.GameSessionID(id)}
	}
	var alike []messages.GameSessionID
	for _, i := range l.store.List() {
		switch last := path.Base(string(i.ID)); {
		case last == id:
			found = append(found, i.ID)
		case strings.HasPrefix(last, id):
			alike = append(alike, i.ID)
		}
	}
	if len(found) == 0 {
		return alike
	}
	return found
}

// listedMax is the maximum number of ended game sessions in a list without the parameter all. There may be
// many, because all hosts of a user share the folder, and it outlives them.
const listedMax = 20

// list prints the running game sessions that have a log, and the most recently ended ones.
func (l *Logs) list(w http.ResponseWriter, all bool) {
	header(w, "text/plain; charset=utf-8")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	ended := 0
	for _, i := range l.store.List() {
		state := "running"
		if !i.Ended.IsZero() {
			if ended++; ended > listedMax && !all {
				continue
			}
			state = "ended " + i.Ended.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(t, "%s\t%s\t%d bytes\n", i.ID, state, i.Bytes)
	}
	t.Flush()
	if more := ended - listedMax; more > 0 && !all {
		fmt.Fprintf(w, "... and %d that ended before\n", more)
	}
}

// sending says how to send a log.
type sending struct {
	follow bool          // whether to send new lines until the game session has ended
	wait   time.Duration // how long to wait for the last lines, which may be written shortly after the game session's end
	attach string        // file format, formatZip or formatText; empty for a page
	short  bool          // whether to shorten player session ids
}

// send streams a log until its end, or until ctx ends. If the log cannot be read, it cuts off the response.
func (l *Logs) send(ctx context.Context, w http.ResponseWriter, id messages.GameSessionID, how sending) {
	var log io.ReadCloser
	var err error
	switch {
	case l.elsewhere != nil && !l.store.Has(id):
		log, _, err = l.elsewhere(ctx, id, 0, how.wait)
	case how.wait > 0:
		soon, cancel := context.WithTimeout(ctx, how.wait)
		defer cancel()
		log, err = l.store.Follow(soon, id)
	case how.follow:
		log, err = l.store.Follow(ctx, id)
	default:
		log, err = l.store.Read(id)
	}
	switch refusal := (*messages.Error)(nil); {
	case errors.Is(err, fs.ErrNotExist):
		answer(w, http.StatusNotFound, "there is no log of this game session")
		return
	case errors.As(err, &refusal):
		answer(w, http.StatusServiceUnavailable, refusal.Text)
		return
	case err != nil:
		answer(w, http.StatusInternalServerError, "the log cannot be read")
		return
	}
	defer log.Close()
	if how.short {
		log = shortened(log)
	}
	name := path.Base(string(id)) + ".log"
	if how.attach == formatZip {
		l.sendZip(w, log, name)
		return
	}
	if how.attach == formatText {
		attach(w, name)
	}
	header(w, "text/plain; charset=utf-8")
	flush := http.NewResponseController(w)
	if how.follow || how.wait > 0 {
		_ = flush.Flush() // the next line may take a long time
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := log.Read(buffer)
		_, gone := w.Write(buffer[:n])
		switch {
		case gone != nil, errors.Is(err, io.EOF), errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil:
			return
		case err != nil:
			panic(http.ErrAbortHandler) // cut off the connection, so that the caller notices that the log is incomplete
		}
		if (how.follow || how.wait > 0) && flush.Flush() != nil {
			return
		}
	}
}

// sendZip streams a log as the only file of an archive. The file ends at the end of the log, or at the last
// line if waiting for the end has timed out. If the log cannot be read, the archive is left incomplete, so
// that the client notices.
func (l *Logs) sendZip(w http.ResponseWriter, log io.Reader, name string) {
	attach(w, strings.TrimSuffix(name, path.Ext(name))+".zip")
	header(w, "application/zip")
	archive := zip.NewWriter(w)
	file, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: l.now()})
	if err == nil {
		_, err = io.Copy(file, log)
	}
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		_ = archive.Close()
	}
}

// attach sets a header that makes a browser save the response as a file.
func attach(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
}

// header sets the content type, and forbids browsers to guess another one.
func header(w http.ResponseWriter, kind string) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
}

// Short opens a log with shortened player session ids. If bytes is 0, it returns the complete log so far,
// otherwise only the lines in its last bytes. whole reports whether these are all lines. The error is
// fs.ErrNotExist if there is no log.
func (l *Logs) Short(ctx context.Context, id messages.GameSessionID, bytes int64) (log io.ReadCloser, whole bool, err error) {
	switch {
	case l.elsewhere != nil && !l.store.Has(id):
		log, whole, err = l.elsewhere(ctx, id, bytes, 0)
	case bytes == 0:
		log, err = l.store.Read(id)
		whole = true
	default:
		log, whole, err = l.store.Tail(id, bytes)
	}
	if err != nil {
		return nil, whole, err
	}
	if !whole {
		for one, err := []byte{0}, error(nil); err == nil && one[0] != '\n'; {
			_, err = log.Read(one)
		}
	}
	return shortened(log), whole, nil
}
