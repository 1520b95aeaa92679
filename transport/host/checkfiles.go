package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"troupe/actors/matchmaker"
	"troupe/actors/script/bundle"
	"troupe/transport/serviceapi"
	"troupe/transport/tlsconf"
)

// CheckFiles reports all mistakes in the files and folders that a configuration names; Start would fail on
// them. Each error names its key and the file. CheckFiles changes no file, and does not repeat the errors of
// Validate.
func (c *Config) CheckFiles() error {
	var v checks
	v.secretFiles(c)
	v.certificateFiles(c)
	v.scriptFiles(c)
	v.ruleFiles(c)
	v.destinations(c)
	v.err("log.gameSessions.dir", makeable(c.Log.GameSessions.Dir))
	if c.Store.Path != "" {
		v.err("store.path", writable(c.Store.Path))
	}
	for i, s := range c.Events.Sinks {
		if s.Path == "" {
			continue
		}
		_, err := os.Stat(filepath.Dir(s.Path))
		if err == nil {
			err = writable(s.Path)
		}
		v.err(fmt.Sprintf("events.sinks[%d].path", i), err)
	}
	return errors.Join(v...)
}

func (v *checks) secretFiles(c *Config) {
	for i := range c.API.Keys {
		k, key := &c.API.Keys[i], fmt.Sprintf("api.keys[%d].secretFile", i)
		if k.SecretFile == "" || !c.API.signed() {
			continue
		}
		secret, err := readSecret(k.SecretFile)
		if err == nil {
			made := c.API.made(k, secret)
			err = made.Validate(serviceapi.Operations())
		}
		v.err(key, err)
	}
	file := func(key, name string) {
		_, err := secretOf("", name)
		v.err(key+".secretFile", err)
	}
	for i, s := range c.Events.Sinks {
		file(fmt.Sprintf("events.sinks[%d]", i), s.SecretFile)
	}
	file("events.sse", c.Events.SSE.SecretFile)
}

func (v *checks) certificateFiles(c *Config) {
	if !c.hasTLS() {
		return
	}
	if c.TLS.CertFile == "" {
		v.err("tls.dir", makeable(c.TLS.Dir))
		return
	}
	before := len(*v)
	for _, f := range []struct{ key, name string }{{"tls.certFile", c.TLS.CertFile}, {"tls.keyFile", c.TLS.KeyFile}, {"tls.caFile", c.TLS.CAFile}} {
		if f.name != "" {
			_, err := os.Stat(f.name)
			v.err(f.key, err)
		}
	}
	if o, err := c.Certificates(zerolog.Nop()); err == nil && len(*v) == before && c.TLS.KeyFile != "" {
		_, err = tlsconf.Load(o) // the errors of Load name the file
		v.err("tls.certFile", err)
	}
}

func (v *checks) scriptFiles(c *Config) {
	for i, f := range c.Fleets {
		if f.Script == "" {
			continue
		}
		_, err := bundle.FromPath(f.Script, c.Script.bundleLimits())
		v.err(fmt.Sprintf("fleets[%d].script", i), err)
	}
}

// ruleFiles checks the rule sets, and that each matchmaking configuration has one. If a store exists, it may
// contain a missing rule set, so only Start can check that.
func (v *checks) ruleFiles(c *Config) {
	var invalid checks
	invalid.matchmaking(c)
	before := len(*v)
	for i, r := range c.Matchmaking.RuleSets {
		_, err := r.text()
		v.err(fmt.Sprintf("matchmaking.ruleSets[%d].file", i), err)
	}
	o, err := c.matchmaking(time.Now())
	if len(*v) > before || len(invalid) > 0 || err != nil {
		return
	}
	if !c.hasStore() {
		*v = append(*v, new(matchmaker.State).CheckConfigured(o))
		return
	}
	for i, r := range o.RuleSets {
		v.err(fmt.Sprintf("matchmaking.ruleSets[%d]", i), matchmaker.CheckRuleSet(r.Body))
	}
}

// destinations checks that the destinations of queues and matchmaking configurations exist. If a store
// exists, it is skipped: the store may contain missing destinations, or a queue that takes precedence. Start
// checks them then.
func (v *checks) destinations(c *Config) {
	if c.hasStore() {
		return
	}
	known := map[string]bool{}
	for _, f := range c.Fleets {
		known[f.ID] = true
	}
	for _, a := range c.Aliases {
		known[a.ID] = true
	}
	for i, k := range c.Matchmaking.Configurations {
		there := slices.ContainsFunc(c.Queues, func(q Queue) bool { return q.Name == k.Queue })
		v.that(fmt.Sprintf("matchmaking.configurations[%d].queue", i), there || !queueForm().MatchString(k.Queue), k.Queue+" is not one of queues")
	}
	for i, q := range c.Queues {
		for j, d := range q.Destinations {
			_, tail, _ := strings.Cut(d, "-") // if the service API created the id, tail is a UUID
			mine := fleetForm().MatchString(d) || aliasForm().MatchString(d)
			v.that(fmt.Sprintf("queues[%d].destinations[%d]", i, j), known[d] || !mine || uuid.Validate(tail) == nil, d+" is neither one of fleets nor of aliases")
		}
	}
}

// hasStore reports whether the configured store already exists.
func (c *Config) hasStore() bool {
	_, err := os.Stat(c.Store.Path)
	return c.Store.Path != "" && err == nil
}

// writable returns an error if a file can neither be written nor created. It does not try devices and pipes.
func writable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return makeable(filepath.Dir(file))
	case info.IsDir():
		return fmt.Errorf("%s is a folder: name a file in it", file)
	case !info.Mode().IsRegular():
		return nil
	}
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// makeable returns an error if a folder is neither writable nor can be created. An empty path and the null
// device are accepted: with os.DevNull, nothing is kept.
func makeable(dir string) error {
	for dir != "" && dir != os.DevNull {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir:
			dir = filepath.Dir(dir)
			continue
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is not a folder", dir)
		}
		f, err := os.CreateTemp(dir, ".troupe-*")
		if err != nil {
			return err
		}
		_ = f.Close()
		return os.Remove(f.Name())
	}
	return nil
}
