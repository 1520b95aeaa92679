package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"troupe/actors/fault"
	"troupe/messages/lazy"
	"troupe/transport/host"
)

// EnvPrefix is the prefix of Troupe's environment variables.
const EnvPrefix = "TROUPE_"

// Sources are the sources of a configuration. Each source overrides the previous ones.
type Sources struct {
	Defaults host.Config
	// File is the path of a YAML file; empty: none.
	File string
	// Environ are NAME=value pairs; nil means the environment of the process.
	Environ []string
	// Flags are settings from the command line. If a key is repeated, the last value is used.
	Flags []Flag
	// Files enables host.Config.CheckFiles, which checks the files that the configuration names.
	Files bool
	// Warn is called with warnings, which do not change the configuration. If it is nil, warnings are dropped.
	Warn func(text string)
}

// Flag is one setting of the command line.
type Flag struct {
	Name  string // as the user knows it, for example --api-addr
	Key   string
	Value string
}

// Load reads all sources and checks the result with host.Config.Validate.
func Load(s Sources) (host.Config, error) {
	r, err := Resolve(s)
	if err != nil {
		return host.Config{}, err
	}
	return r.Config, r.Invalid
}

// Resolved is the configuration that results from all sources.
type Resolved struct {
	Config host.Config
	// Invalid holds the mistakes that host.Config.Validate and, with Sources.Files, host.Config.CheckFiles find; nil:
	// none.
	Invalid error

	origin map[string]string // source of each key that is not a default
}

// Origin returns where the value of a key comes from, such as "flag --set" or "environment TROUPE_REGION". For a list,
// key is the key of the list.
func (r *Resolved) Origin(key string) string {
	return cmp.Or(r.origin[key], "default")
}

// Resolve reads all sources. It returns an error, and no configuration, if a source itself is malformed or has unknown
// keys or values of the wrong kind.
func Resolve(s Sources) (*Resolved, error) {
	l := newLoader(s.Defaults)
	if s.File != "" {
		data, err := os.ReadFile(s.File)
		if err != nil {
			if p, ok := errors.AsType[*os.PathError](err); ok {
				err = p.Err // without the path, which the message already contains
			}
			return nil, fmt.Errorf("config: file %s: %w", s.File, err)
		}
		l.file("file "+s.File, data)
		l.checkMode(s.File)
	}
	environ := s.Environ
	if environ == nil {
		environ = os.Environ()
	}
	l.environment(environ)
	if l.foreign != nil && s.Warn != nil {
		s.Warn("these environment variables look like those of a Kubernetes service and are ignored (enableServiceLinks: false in the pod removes them): " +
			strings.Join(l.foreign, ", "))
	}
	l.flags(s.Flags)
	return l.result(environ, s.Files)
}

// loader accumulates the settings and the mistakes of all sources.
type loader struct {
	c        host.Config
	schema   *schema
	origin   map[string]string // source of each key that is not a default
	mistakes []error
	secrets  bool     // the file has secrets
	foreign  []string // ignored variables set by Kubernetes
}

func newLoader(defaults host.Config) *loader {
	return &loader{c: defaults, schema: newSchema(), origin: map[string]string{}}
}

// setting returns the value of a setting in the configuration.
func (l *loader) setting(f *field) reflect.Value {
	return reflect.ValueOf(&l.c).Elem().FieldByIndex(f.index)
}

// wrong records a mistake in the value of a key.
func (l *loader) wrong(key, source, format string, args ...any) {
	l.mistakes = append(l.mistakes, fmt.Errorf("%s (%s): %w", key, source, fmt.Errorf(format, args...)))
}

// fileBytesMax bounds the size of a configuration file.
const fileBytesMax = 1 << 20

func (l *loader) file(source string, data []byte) {
	if len(data) > fileBytesMax {
		l.mistakes = append(l.mistakes, fmt.Errorf("%s: larger than %d bytes", source, fileBytesMax))
		return
	}
	var raw map[string]any
	if err := yaml.Unmarshal(data, &raw); err != nil {
		l.mistakes = append(l.mistakes, fmt.Errorf("%s: %w", source, err))
		return
	}
	r := fileReader{l: l, source: source}
	r.section(l.schema.root, "", raw, reflect.ValueOf(&l.c).Elem())
}

var (
	serviceVariable = lazy.Regexp(`\A` + EnvPrefix + `([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)\z`)
	linkVariable    = lazy.Regexp(`\A` + EnvPrefix + `([A-Z0-9_]+_)?PORT=(tcp|udp|sctp)://`)
)

// ofKubernetes reports whether Kubernetes sets this variable in a pod for a service whose name begins with troupe. A
// variable ..._PORT is a setting of ours if its value is not a link like tcp://... .
func ofKubernetes(name, value string) bool {
	return serviceVariable().MatchString(name) || linkVariable().MatchString(name+"="+value)
}

func (l *loader) environment(environ []string) {
	for _, pair := range environ {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || !strings.HasPrefix(name, EnvPrefix) || fault.Enabled && name == fault.Variable {
			continue
		}
		source := "environment " + name
		switch f := l.schema.byEnv(name); {
		case f != nil:
			l.text(f, source, value)
		case ofKubernetes(name, value):
			l.foreign = append(l.foreign, name)
		default:
			l.wrong(name, source, "unknown variable; did you mean %s?", nearest(name, l.schema.envNames()))
		}
	}
}

func (l *loader) flags(flags []Flag) {
	for _, flag := range flags {
		source := "flag " + flag.Name
		f := l.schema.byPath[flag.Key]
		if f == nil || f.isSection() {
			l.wrong(flag.Key, source, "unknown key; did you mean %s?", nearest(flag.Key, l.schema.paths(false)))
			continue
		}
		l.text(f, source, flag.Value)
	}
}

// text sets one setting from its text form.
func (l *loader) text(f *field, source, text string) {
	if f.list {
		l.listText(f, source, text)
		return
	}
	v, err := fromText(f.kind, text)
	if err != nil {
		l.wrong(f.path, source, "%w", err)
		return
	}
	l.origin[f.path] = source
	l.setting(f).Set(reflect.ValueOf(v))
}

// result returns the configuration. If a source has mistakes, it returns all of them instead.
func (l *loader) result(environ []string, files bool) (*Resolved, error) {
	r := &Resolved{Config: l.c, origin: l.origin}
	c := &r.Config
	l.dropDefaults(c)
	l.secretsOf(c, environ)
	invalid := l.named(c.Validate())
	if files {
		invalid = append(invalid, l.named(c.CheckFiles())...)
	}
	if len(l.mistakes) > 0 {
		if files { // with Files, the caller wants to see all mistakes
			l.mistakes = append(l.mistakes, invalid...)
		}
		return nil, joined(l.mistakes)
	}
	r.Invalid = joined(invalid)
	return r, nil
}

// joined returns mistakes as one error, or nil if there are none. It sorts them, because map iteration order is random.
func joined(mistakes []error) error {
	if len(mistakes) == 0 {
		return nil
	}
	slices.SortStableFunc(mistakes, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return fmt.Errorf("config: %w", errors.Join(mistakes...))
}

// dropDefaults removes defaults that refer to replaced defaults. It removes the default aliases if fleets are set; the
// default queues if fleets or aliases are set; and the default matchmaking if fleets, aliases, queues or rule sets are
// set.
func (l *loader) dropDefaults(c *host.Config) {
	set := func(key string) bool { return l.origin[key] != "" }
	if set("fleets") && !set("aliases") {
		c.Aliases = []host.Alias{}
	}
	if (set("fleets") || set("aliases")) && !set("queues") {
		c.Queues = []host.Queue{}
	}
	if set("fleets") || set("aliases") || set("queues") || set("matchmaking.ruleSets") {
		if !set("matchmaking.configurations") {
			c.Matchmaking.Configurations = []host.MatchmakingSetting{}
		}
		if !set("matchmaking.ruleSets") && !set("matchmaking.configurations") {
			c.Matchmaking.RuleSets = []host.MatchmakingRules{}
		}
	}
}

// named adds the source to each mistake that Validate or CheckFiles found. The text of a mistake begins with its key.
func (l *loader) named(err error) (all []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	for _, e := range joined.Unwrap() {
		key, what, _ := strings.Cut(e.Error(), ": ")
		list, _, _ := strings.Cut(key, "[")
		if source := l.origin[list]; source != "" {
			e = fmt.Errorf("%s (%s): %s", key, source, what)
		}
		all = append(all, e)
	}
	return all
}
