package config

import (
	"fmt"
	"os"
	"strings"

	"troupe/transport/host"
	"troupe/transport/tlsconf"
)

// isSecret reports whether a setting is secret. A secret must not be printed, and other users must not be able to read
// it.
func isSecret(key string) bool {
	return strings.HasSuffix(key, ".secret") || strings.HasSuffix(key, ".sessionToken")
}

// checkMode rejects a file with secrets if users other than its owner can read it.
func (l *loader) checkMode(name string) {
	info, err := os.Stat(name)
	if !l.secrets || err != nil {
		return
	}
	if err := tlsconf.CheckPrivate(name, "its secrets", info); err != nil {
		l.mistakes = append(l.mistakes, fmt.Errorf("file %w; or use secretFile or secretEnv", err))
	}
}

// secretsOf fills in the secrets that come from the environment.
func (l *loader) secretsOf(c *host.Config, environ []string) {
	for i := range c.API.Keys {
		k := &c.API.Keys[i]
		l.secretOf("api.keys", fmt.Sprintf("api.keys[%d]", i), &k.Secret, k.SecretFile, k.SecretEnv, environ)
	}
	for i := range c.Events.Sinks {
		s := &c.Events.Sinks[i]
		l.secretOf("events.sinks", fmt.Sprintf("events.sinks[%d]", i), &s.Secret, s.SecretFile, s.SecretEnv, environ)
	}
	sse := &c.Events.SSE
	l.secretOf("events.sse.secretEnv", "events.sse", &sse.Secret, sse.SecretFile, sse.SecretEnv, environ)
}

// secretOf fills in one secret if it comes from the environment. setting is the key whose source names the variable.
func (l *loader) secretOf(setting, key string, secret *string, file, env string, environ []string) {
	switch {
	case env == "":
		return
	case strings.HasPrefix(strings.ToUpper(env), EnvPrefix):
		l.wrong(key+".secretEnv", l.origin[setting], "must not begin with %s: such variables are settings", EnvPrefix)
	case *secret != "" || file != "":
		l.wrong(key, l.origin[setting], "must have one of secret, secretFile and secretEnv")
	}
	for _, pair := range environ {
		if name, value, _ := strings.Cut(pair, "="); name == env {
			*secret = value
		}
	}
}
