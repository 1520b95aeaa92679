package host

import (
	"fmt"
	"io"
	"os"
	"strings"

	"troupe/transport/tlsconf"
)

const secretFileMax = 4 << 10 // bytes

// readSecret reads a file to which only its owner may have access.
func readSecret(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if err := tlsconf.CheckPrivate(name, "this secret", info); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, secretFileMax+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > secretFileMax:
		return "", fmt.Errorf("%s: more than %d bytes", name, secretFileMax)
	}
	return strings.TrimSpace(string(text)), nil
}

func secretOf(secret, file string) (string, error) {
	if file == "" {
		return secret, nil
	}
	return readSecret(file)
}

// secret checks the source of an optional secret. A secret of the environment has been filled
// in already.
func (v *checks) secret(key, secret, file, env string) {
	v.that(key, secret == "" || file == "", "must have one of secret, secretFile and secretEnv")
	v.that(key+".secretEnv", env == "" || secret != "" || file != "", "names a variable that is not set")
}
