package tlsconf

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const fileMax = 1 << 20

// readPEM reads and parses a file. Every error names the file. With secret, only the owner may have access to
// the file.
func readPEM(name string, secret bool) (pemFile, error) {
	what := ""
	if secret {
		what = "this private key"
	}
	text, err := ReadFile(name, what, fileMax)
	if err != nil {
		return pemFile{}, err // the error names the file
	}
	f, err := parsePEM(text)
	if err != nil {
		return pemFile{}, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// readCertificates is readPEM for a file that must contain a certificate.
func readCertificates(name string, secret bool) ([]*x509.Certificate, error) {
	f, err := readPEM(name, secret)
	if err == nil && len(f.certs) == 0 {
		err = fmt.Errorf("%s: no certificate in it", name)
	}
	return f.certs, err
}

// ReadFile reads a file of at most most bytes. If secret is not empty, only the owner may have access to the
// file; secret describes the content in errors, as in "this secret".
func ReadFile(name, secret string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if secret != "" {
		if err := CheckPrivate(name, secret, info); err != nil {
			return nil, err
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("%s: more than %d bytes", name, most)
	}
	return text, nil
}

// exists reports whether a file exists. An error means that this is unknown.
func exists(name string) (bool, error) {
	_, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// replaceFile atomically writes a file with permissions 0600.
func replaceFile(name string, text []byte) error {
	dir := filepath.Dir(name)
	temp, err := os.CreateTemp(dir, "."+filepath.Base(name)+"-*") // creates the file with permissions 0600
	if err != nil {
		return err
	}
	err = writeAndClose(temp, text)
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return err
	}
	syncDir(dir)
	return nil
}

// createDir atomically creates a directory with the given files. If another process was faster, it keeps that
// directory.
func createDir(name string, files map[string][]byte) error {
	parent := filepath.Dir(name)
	temp, err := os.MkdirTemp(parent, "."+filepath.Base(name)+"-*") // creates the directory with permissions 0700
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }() // fails harmlessly after the rename
	for file, text := range files {
		f, err := os.OpenFile(filepath.Join(temp, file), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if err := writeAndClose(f, text); err != nil {
			return err
		}
	}
	syncDir(temp)
	if err := os.Rename(temp, name); err != nil { // never replaces a directory that contains files
		if there, _ := exists(name); there {
			return nil
		}
		return err
	}
	syncDir(parent)
	return nil
}

func writeAndClose(f *os.File, text []byte) error {
	_, err := f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes a rename durable, on systems that can sync directories.
func syncDir(name string) {
	if dir, err := os.Open(name); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
}

// stamp identifies a version of a file. An unreadable file has the zero stamp.
type stamp struct{ size, modified int64 }

func stampAll(files []string) []stamp {
	stamps := make([]stamp, len(files))
	for i, name := range files {
		if info, err := os.Stat(name); err == nil {
			stamps[i] = stamp{info.Size(), info.ModTime().UnixNano()}
		}
	}
	return stamps
}
