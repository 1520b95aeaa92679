package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/providers/structs"
	"github.com/knadh/koanf/v2"

	"troupe/actors/fault"
	"troupe/transport/host"
)

// EnvPrefix is the prefix of Troupe's environment variables.
const EnvPrefix = "TROUPE_"

// Sources are the sources of a configuration; each overrides those before it.
type Sources struct {
	Defaults host.Config
	// File is the path of a YAML file, empty for none.
	File string
	// Environ are NAME=value pairs; nil means the environment of the process.
	Environ []string
	// Flags are settings of the command line; the last one for a key wins.
	Flags []Flag
	// Files has the files that the configuration names checked as well (host.Config.CheckFiles).
	Files bool
	// Warn is called with warnings, which do not change the configuration; nil drops them.
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

// Resolved is what the sources of a configuration say together.
type Resolved struct {
	Config host.Config
	// Invalid are the mistakes that host.Config.Validate finds, and with Sources.Files host.Config.CheckFiles; nil for none.
	Invalid error

	origin map[string]string // source of each key that is not a default
}

// Origin returns where the value of a key comes from, such as flag --set or
// environment TROUPE_REGION; for a list, the key of the list.
func (r *Resolved) Origin(key string) string {
	return cmp.Or(r.origin[key], "default")
}

// Add says that a source outside of Sources has set a key, or has added to a list.
func (r *Resolved) Add(key, source string) {
	if before := r.origin[key]; before != "" {
		source = before + " and " + source
	}
	r.origin[key] = source
}

// Resolve reads all sources. It returns an error if one of them has a mistake by itself: then
// there is no configuration.
func Resolve(s Sources) (*Resolved, error) {
	l := newLoader(s.Defaults)
	if s.File != "" {
		data, err := file.Provider(s.File).ReadBytes()
		if err != nil {
			return nil, fmt.Errorf("config: file %s: %w", s.File, cause(err))
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
	l.shared(environ)
	return l.result(environ, s.Files)
}

// sharedVariables are variables of other programs that stand for an empty setting; of two for one setting the later one counts.
var sharedVariables = []struct{ name, key string }{
	{"OTEL_EXPORTER_OTLP_ENDPOINT", "traces.endpoint"}, // what OpenTelemetry's own libraries read
	{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "traces.endpoint"},
}

// shared takes settings that are empty from variables that other programs read as well.
func (l *loader) shared(environ []string) {
	settings := map[string]any{}
	for _, v := range sharedVariables {
		for _, pair := range environ {
			name, value, _ := strings.Cut(pair, "=")
			if name != v.name || value == "" || l.k.String(v.key) != "" {
				continue
			}
			if key, value := l.text(l.schema.byPath[v.key], "environment "+v.name, value); key != "" {
				settings[key] = value
			}
		}
	}
	l.load(confmap.Provider(settings, "."))
}

// cause returns err without the path, which the caller names itself.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// loader collects settings and mistakes.
type loader struct {
	k        *koanf.Koanf
	schema   *schema
	origin   map[string]string // source of each key that is not a default
	mistakes []error
	secrets  bool     // the file has secrets
	foreign  []string // ignored variables of Kubernetes
}

func newLoader(defaults host.Config) *loader {
	l := &loader{k: koanf.New("."), schema: newSchema(), origin: map[string]string{}}
	l.load(structs.Provider(defaults, tagName))
	return l
}

func (l *loader) load(p koanf.Provider) {
	if err := l.k.Load(p, nil); err != nil {
		l.mistakes = append(l.mistakes, err)
	}
}

// wrong adds a mistake in the value of a key.
func (l *loader) wrong(key, source, format string, args ...any) {
	l.mistakes = append(l.mistakes, fmt.Errorf("%s (%s): %w", key, source, fmt.Errorf(format, args...)))
}

// fileBytesMax bounds a configuration file, which is written by hand.
const fileBytesMax = 1 << 20

func (l *loader) file(source string, data []byte) {
	if len(data) > fileBytesMax {
		l.mistakes = append(l.mistakes, fmt.Errorf("%s: larger than %d bytes", source, fileBytesMax))
		return
	}
	raw, err := yaml.Parser().Unmarshal(data)
	if err != nil {
		l.mistakes = append(l.mistakes, fmt.Errorf("%s: %w", source, err))
		return
	}
	r := fileReader{l: l, source: source}
	l.load(confmap.Provider(r.section(l.schema.root, "", raw), ""))
}

var (
	serviceVariable = regexp.MustCompile(`\A` + EnvPrefix + `([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)\z`)
	linkVariable    = regexp.MustCompile(`\A` + EnvPrefix + `([A-Z0-9_]+_)?PORT=(tcp|udp|sctp)://`)
)

// ofKubernetes reports whether a variable is one that Kubernetes sets in a pod for each
// service, here for a service whose name begins with troupe. A ..._PORT whose value is not a
// link like tcp://... is a setting.
func ofKubernetes(name, value string) bool {
	return serviceVariable.MatchString(name) || linkVariable.MatchString(name+"="+value)
}

func (l *loader) environment(environ []string) {
	l.load(env.Provider(".", env.Opt{
		Prefix:      EnvPrefix,
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(name, value string) (string, any) {
			if fault.Enabled && name == fault.Variable {
				return "", nil // not a setting
			}
			source := "environment " + name
			f := l.schema.byEnv(name)
			if f == nil && ofKubernetes(name, value) {
				l.foreign = append(l.foreign, name)
				return "", nil
			}
			if f == nil {
				l.wrong(name, source, "unknown variable; did you mean %s?", nearest(name, l.schema.envNames()))
				return "", nil
			}
			return l.text(f, source, value)
		},
	}))
}

func (l *loader) flags(flags []Flag) {
	settings := map[string]any{}
	for _, flag := range flags {
		source := "flag " + flag.Name
		f := l.schema.byPath[flag.Key]
		if f == nil || f.isSection() {
			l.wrong(flag.Key, source, "unknown key; did you mean %s?", nearest(flag.Key, l.schema.paths(false)))
			continue
		}
		if key, v := l.text(f, source, flag.Value); key != "" {
			settings[key] = v
		}
	}
	l.load(confmap.Provider(settings, "."))
}

// text parses one setting in text form; it returns an empty key if the text is invalid.
func (l *loader) text(f *field, source, text string) (key string, value any) {
	if f.list {
		return l.listText(f, source, text)
	}
	v, err := fromText(f.kind, text)
	if err != nil {
		l.wrong(f.path, source, "%w", err)
		return "", nil
	}
	l.origin[f.path] = source
	return f.path, v
}

// result returns the configuration, or all mistakes of the sources and of what they say together.
func (l *loader) result(environ []string, files bool) (*Resolved, error) {
	r := &Resolved{origin: l.origin}
	c := &r.Config
	if err := l.k.UnmarshalWithConf("", c, koanf.UnmarshalConf{Tag: tagName}); err != nil {
		l.mistakes = append(l.mistakes, err)
	}
	l.dropDefaults(c)
	l.secretsOf(c, environ)
	invalid := l.named(c.Validate())
	if files {
		invalid = append(invalid, l.named(c.CheckFiles())...)
	}
	if len(l.mistakes) > 0 {
		if files { // whoever checks wants to know all
			l.mistakes = append(l.mistakes, invalid...)
		}
		// Map order is random, so sort the mistakes.
		slices.SortStableFunc(l.mistakes, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
		return nil, fmt.Errorf("config: %w", errors.Join(l.mistakes...))
	}
	if len(invalid) > 0 {
		slices.SortStableFunc(invalid, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
		r.Invalid = fmt.Errorf("config: %w", errors.Join(invalid...))
	}
	return r, nil
}

// dropDefaults removes the default aliases if fleets are set, the default queues if fleets or
// aliases are set, and the default matchmaking if one of these, queues or rule sets are set,
// because the defaults refer to each other.
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

// named adds the source to each mistake that Validate or CheckFiles found. The text of a mistake begins
// with the key.
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
