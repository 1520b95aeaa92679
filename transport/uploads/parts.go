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
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"troupe/messages"
)

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

// partName returns the name of the file of a part. Parts of other bytes have other names, so the name of an archive, which is
// made of theirs, says what it has.
func partName(n int, tag string) string { return fmt.Sprintf("%05d.%s", n, strings.Trim(tag, `"`)) }

// part takes one part.
func (u *Uploads) part(w http.ResponseWriter, r *http.Request, id messages.BuildID, parts string, n int) error {
	total := int64(0)
	entries, err := os.ReadDir(parts)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && !strings.HasPrefix(e.Name(), partName(n, "")) {
			total += info.Size()
		}
	}
	if total >= u.o.SizeMax {
		return refuse(http.StatusBadRequest, "EntityTooLarge", "there are more than %d bytes", u.o.SizeMax)
	}
	file, hash, err := u.write(r, id, min(partMax, u.o.SizeMax-total))
	if err != nil {
		return err
	}
	name := partName(n, etag(hash))
	if err := os.Rename(file, filepath.Join(parts, name)); err != nil {
		_ = os.Remove(file)
		return err
	}
	for _, e := range entries {
		if e.Name() != name && strings.HasPrefix(e.Name(), partName(n, "")) {
			_ = os.Remove(filepath.Join(parts, e.Name()))
		}
	}
	w.Header().Set("ETag", etag(hash))
	return nil
}

// complete makes the archive of the parts. A client may send the request again, also to another host, while this one works or
// afterwards: the archive has the name of the upload and its parts, so the answer is the same.
func (u *Uploads) complete(r *http.Request, upload string, id messages.BuildID) (any, error) {
	var list partList
	if err := xml.NewDecoder(io.LimitReader(body(r), listMax)).Decode(&list); err != nil || len(list.Part) == 0 || len(list.Part) > partsMax {
		return nil, refuse(http.StatusBadRequest, "MalformedXML", "the list of parts cannot be read")
	}
	hash := sha256.Sum256(fmt.Append(nil, upload, list.Part))
	archive := u.archive(id, hex.EncodeToString(hash[:]))
	leave, err := u.join(r.Context(), id)
	if err != nil {
		return nil, err
	}
	defer leave()
	if !exists(archive) {
		err := u.awaits(r.Context(), id)
		if err == nil {
			var file string
			file, err = u.whole(u.name(id, upload), id, &list)
			err = publish(file, err, archive)
		}
		if err != nil && !exists(archive) { // another host may have made it meanwhile
			return nil, err
		}
	}
	if err := u.tell(id, archive); err != nil {
		return nil, err
	}
	return &completed{Bucket: messages.UploadsBucket, Key: messages.UploadKey(id), ETag: fmt.Sprintf(`"%x-%d"`, hash[:16], len(list.Part))}, nil
}

// join waits until no other request of this host makes an archive of a build, and makes this one the only one until leave is
// called.
func (u *Uploads) join(ctx context.Context, id messages.BuildID) (leave func(), err error) {
	for {
		u.mu.Lock()
		other, ends := u.joining[id], make(chan struct{})
		if other == nil {
			u.joining[id] = ends
		}
		u.mu.Unlock()
		if other == nil {
			return func() {
				u.mu.Lock()
				delete(u.joining, id)
				u.mu.Unlock()
				close(ends)
			}, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, refuse(http.StatusServiceUnavailable, "ServiceUnavailable", "another request completes the upload")
		}
	}
}

// whole writes the parts of an upload to a new file, of which it returns the name, also after an error.
func (u *Uploads) whole(parts string, id messages.BuildID, list *partList) (name string, err error) {
	if _, err := os.Stat(parts); err != nil {
		return "", err
	}
	total, last := int64(0), 0
	for _, p := range list.Part {
		if p.PartNumber <= last {
			return "", refuse(http.StatusBadRequest, "InvalidPartOrder", "the parts are not in their order")
		}
		last = p.PartNumber
		if raw, err := hex.DecodeString(strings.Trim(p.ETag, `"`)); err != nil || len(raw) != 16 {
			return "", refuse(http.StatusBadRequest, "InvalidPart", "part %d has another ETag", p.PartNumber)
		}
		info, err := os.Stat(filepath.Join(parts, partName(p.PartNumber, p.ETag)))
		if err != nil {
			return "", refuse(http.StatusBadRequest, "InvalidPart", "part %d is not there, or has another ETag", p.PartNumber)
		}
		if total += info.Size(); total > u.o.SizeMax {
			return "", refuse(http.StatusBadRequest, "EntityTooLarge", "there are more than %d bytes", u.o.SizeMax)
		}
	}
	if err := u.room(total); err != nil {
		return "", err
	}
	to, err := os.CreateTemp(u.o.Dir, filepath.Base(u.name(id, "whole-")))
	if err != nil {
		return "", err
	}
	for _, p := range list.Part {
		if err = u.ctx.Err(); err == nil {
			err = appendTo(to, filepath.Join(parts, partName(p.PartNumber, p.ETag)))
		}
		if err != nil {
			break
		}
	}
	return to.Name(), errors.Join(err, to.Sync(), to.Close())
}

// appendTo copies the content of a file to the end of another one.
func appendTo(to io.Writer, name string) error {
	from, err := os.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = io.Copy(to, from)
	return err
}
