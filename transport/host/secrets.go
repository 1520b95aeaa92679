package host

import (
	"strings"

	"troupe/transport/tlsconf"
)

const secretFileMax = 4 << 10 // bytes

// readSecret reads a file to which only its owner may have access.
func readSecret(name string) (string, error) {
	text, err := tlsconf.ReadFile(name, "this secret", secretFileMax)
	return strings.TrimSpace(string(text)), err
}

func secretOf(secret, file string) (string, error) {
	if file == "" {
		return secret, nil
	}
	return readSecret(file)
}

// secret checks the settings of an optional secret. A secret from the environment has already been copied to
// secret.
func (v *checks) secret(key, secret, file, env string) {
	v.that(key, secret == "" || file == "", "must have one of secret, secretFile and secretEnv")
	v.that(key+".secretEnv", env == "" || secret != "" || file != "", "names a variable that is not set")
}
