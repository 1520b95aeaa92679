package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"troupe/transport/host"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEveryFieldHasAKey walks host.Config. A field without a tag could not be set. Two keys that differ only in case
// could not be distinguished in the environment.
func TestEveryFieldHasAKey(t *testing.T) {
	var walk func(at reflect.Type, path string)
	walk = func(at reflect.Type, path string) {
		seen := map[string]bool{}
		for i := range at.NumField() {
			f := at.Field(i)
			name := f.Tag.Get(tagName)
			where := at.Name() + "." + f.Name
			switch {
			case !f.IsExported():
				t.Errorf("%s is not exported", where)
			case name == "":
				t.Errorf("%s has no %s tag", where, tagName)
			case strings.ContainsAny(name, "._[]- \t,:"):
				t.Errorf("%s: the name %q does not fit into keys and variables", where, name)
			case seen[strings.ToLower(name)]:
				t.Errorf("%s: the name %q is there twice", where, name)
			}
			seen[strings.ToLower(name)] = true
			inner := f.Type
			if inner.Kind() == reflect.Slice {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				walk(inner, join(path, name))
			}
		}
	}
	walk(reflect.TypeFor[host.Config](), "")
	if s := newSchema(); len(s.byPath) < 50 {
		t.Errorf("only %d keys found", len(s.byPath))
	}
}

// TestEveryKeyIsItsOwnVariable checks that no two keys have the same environment variable.
func TestEveryKeyIsItsOwnVariable(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range newSchema().envNames() {
		if seen[name] {
			t.Errorf("%s means two keys", name)
		}
		seen[name] = true
	}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "troupe.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load loads text as a file, with the given environment instead of the process's.
func load(t *testing.T, text string, environ []string, flags ...Flag) (host.Config, error) {
	t.Helper()
	s := Sources{Defaults: host.Defaults(), Environ: append([]string{"PATH=/bin", "TROUPER=no"}, environ...), Flags: flags}
	if text != "" {
		s.File = writeFile(t, text)
	}
	return Load(s)
}

func TestNothingSaidIsDefaults(t *testing.T) {
	for name, text := range map[string]string{
		"no file": "", "comment": "# nothing\n", "empty section": "reconnect:\n", "empty document": "---\n",
	} {
		got, err := load(t, text, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if want := host.Defaults(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, want)
		}
	}
}

func TestSources(t *testing.T) {
	for _, c := range []struct {
		name    string
		file    string
		environ []string
		flags   []Flag
		want    func(c *host.Config)
	}{
		{
			name: "file",
			file: "reconnect:\n  window: 10s\n  takeover: refuse\nlimits:\n  unauthenticatedPerIP: 7\n  playerMessagesPerSecond: 12.5\n" +
				"  playerBytesPerSecond: 100\nfast: {enabled: false}\naccount: '123456789012'\nsession: {emptyTimeout: -1s}\ndrain: {grace: 0}\n",
			want: func(c *host.Config) {
				c.Reconnect.Window, c.Reconnect.Takeover = 10*time.Second, "refuse"
				c.Limits.UnauthenticatedPerIP, c.Limits.PlayerMessagesPerSecond, c.Limits.PlayerBytesPerSecond = 7, 12.5, 100
				c.Fast.Enabled, c.Account, c.Session.EmptyTimeout, c.Drain.Grace = false, "123456789012", -time.Second, 0
			},
		},
		{
			name: "lists replace",
			file: "fleets:\n- {id: fleet-a, gameSessionsMax: 5}\n- id: fleet-b\n  name: b\n  gameSessionsMax: 6\naliases: []\n",
			want: func(c *host.Config) {
				c.Fleets = []host.Fleet{{ID: "fleet-a", GameSessionsMax: 5}, {ID: "fleet-b", Name: "b", GameSessionsMax: 6}}
				c.Aliases, c.Queues = []host.Alias{}, []host.Queue{}
			},
		},
		{
			name: "fleets without the aliases and queues of the defaults",
			file: "fleets:\n- {id: fleet-a, gameSessionsMax: 5}\n",
			want: func(c *host.Config) {
				c.Fleets = []host.Fleet{{ID: "fleet-a", GameSessionsMax: 5}}
				c.Aliases, c.Queues = []host.Alias{}, []host.Queue{}
			},
		},
		{
			name: "fleets with aliases and queues of their own",
			file: "fleets:\n- {id: fleet-a, gameSessionsMax: 5}\naliases: [{id: alias-a, name: a, fleet: fleet-a}]\n" +
				"queues: [{name: q, timeout: 10s, destinations: [alias-a]}]\n",
			want: func(c *host.Config) {
				c.Fleets = []host.Fleet{{ID: "fleet-a", GameSessionsMax: 5}}
				c.Aliases = []host.Alias{{ID: "alias-a", Name: "a", Fleet: "fleet-a"}}
				c.Queues = []host.Queue{{Name: "q", Timeout: 10 * time.Second, Destinations: []string{"alias-a"}}}
			},
		},
		{
			name: "aliases without the queue of the defaults",
			file: "aliases: [{id: alias-a, name: a, fleet: fleet-dev}]\n",
			want: func(c *host.Config) {
				c.Aliases = []host.Alias{{ID: "alias-a", Name: "a", Fleet: "fleet-dev"}}
				c.Queues = []host.Queue{}
			},
		},
		{
			name: "queues beside the fleet and the alias of the defaults",
			file: "queues: [{name: q, timeout: 10s, destinations: [alias-dev, fleet-dev]}]\n",
			want: func(c *host.Config) {
				c.Queues = []host.Queue{{Name: "q", Timeout: 10 * time.Second, Destinations: []string{"alias-dev", "fleet-dev"}}}
			},
		},
		{
			name: "matchmaking of the default queue",
			file: "matchmaking: {ruleSets: [{name: r, file: r.json}], configurations: [{name: m, ruleSet: r, queue: queue-dev, requestTimeout: 60s}]}\n",
			want: func(c *host.Config) {
				c.Matchmaking.RuleSets = []host.MatchmakingRules{{Name: "r", File: "r.json"}}
				c.Matchmaking.Configurations = []host.MatchmakingSetting{{Name: "m", RuleSet: "r", Queue: "queue-dev", RequestTimeout: time.Minute}}
			},
		},
		{
			name: "rule sets without the configuration of the defaults",
			file: "matchmaking: {ruleSets: [{name: r, file: r.json}]}\n",
			want: func(c *host.Config) {
				c.Matchmaking.RuleSets, c.Matchmaking.Configurations = []host.MatchmakingRules{{Name: "r", File: "r.json"}}, []host.MatchmakingSetting{}
			},
		},
		{
			name: "a list in a list",
			file: "locations:\n- {name: eu-west-1, gameSessionsMax: 3, cost: 0.5}\n" +
				"fleets:\n- {id: fleet-a, gameSessionsMax: 5, cost: 1, locations: [{name: eu-west-1, cost: 2.5}, {name: us-east-1}]}\naliases: []\n",
			want: func(c *host.Config) {
				c.Locations = []host.Location{{Name: "eu-west-1", GameSessionsMax: 3, Cost: 0.5}}
				c.Fleets = []host.Fleet{{ID: "fleet-a", GameSessionsMax: 5, Cost: 1, Locations: []host.FleetLocation{{Name: "eu-west-1", Cost: 2.5}, {Name: "us-east-1"}}}}
				c.Aliases, c.Queues = []host.Alias{}, []host.Queue{}
			},
		},
		{
			name: "environment, any case",
			environ: []string{
				"TROUPE_RECONNECT_WINDOW=0s", "TROUPE_LIMITS_UNAUTHENTICATEDPERIP=3", "TROUPE_fast_Enabled=false",
				"TROUPE_LIMITS_PLAYERMESSAGESPERSECOND=0.5", "TROUPE_PUBLIC_HOST=game.example", "TROUPE_ANNOUNCE=",
			},
			want: func(c *host.Config) {
				c.Reconnect.Window, c.Limits.UnauthenticatedPerIP, c.Fast.Enabled = 0, 3, false
				c.Limits.PlayerMessagesPerSecond, c.Public.Host = 0.5, "game.example"
			},
		},
		{
			name:  "flags, the last wins",
			flags: []Flag{{"--api-addr", "api.addr", "127.0.0.1:0"}, {"--set", "workers", "3"}, {"--set", "workers", "4"}},
			want:  func(c *host.Config) { c.API.Addr, c.Workers = "127.0.0.1:0", 4 },
		},
		{
			name:    "environment over file, flags over both",
			file:    "reconnect: {window: 1s}\ndrain: {grace: 1s}\nsession: {endedKeep: 1s, endedMax: 9}\n",
			environ: []string{"TROUPE_DRAIN_GRACE=2s", "TROUPE_SESSION_ENDEDKEEP=2s"},
			flags:   []Flag{{"--set", "session.endedKeep", "3s"}},
			want: func(c *host.Config) {
				c.Reconnect.Window, c.Drain.Grace, c.Session.EndedKeep, c.Session.EndedMax = time.Second, 2*time.Second, 3*time.Second, 9
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := load(t, c.file, c.environ, c.flags...)
			if err != nil {
				t.Fatal(err)
			}
			want := host.Defaults()
			if strings.Contains(c.file, "fleets:") || strings.Contains(c.file, "aliases:") || strings.Contains(c.file, "queues:") {
				// the default matchmaking refers to the default queue
				want.Matchmaking = host.Matchmaking{RuleSets: []host.MatchmakingRules{}, Configurations: []host.MatchmakingSetting{}}
			}
			c.want(&want)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("\ngot  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		name    string
		file    string
		environ []string
		flags   []Flag
		want    []string // parts of the error; FILE is replaced by the file's path
	}{
		{"unknown key", "reconnect:\n  windwo: 10s\n", nil, nil, []string{"reconnect.windwo (file FILE): unknown key; did you mean reconnect.window?"}},
		{"unknown section", "reconect:\n  window: 10s\n", nil, nil, []string{"reconect (file FILE): unknown key; did you mean reconnect?"}},
		{"key without its section", "window: 10s\n", nil, nil, []string{"window (file FILE): unknown key; did you mean reconnect.window?"}},
		{"wrong case", "limits:\n  unauthenticatedPerIp: 1\n", nil, nil, []string{"did you mean limits.unauthenticatedPerIP?"}},
		{"dotted", "reconnect.window: 10s\n", nil, nil, []string{"reconnect.window (file FILE): must be written as sections"}},
		{"unknown in a list", "fleets:\n- {id: fleet-a, gameSessionMax: 1}\n", nil, nil, []string{"fleets[0].gameSessionMax (file FILE): unknown key; did you mean fleets[0].gameSessionsMax?"}},
		{"keys that are no text", "1: {2: 3}\nlimits: {4: 5}\n", nil, nil, []string{"1 (file FILE): unknown key", "limits.4 (file FILE): unknown key"}},
		{"not a duration", "reconnect: {window: 10}\n", nil, nil, []string{"reconnect.window (file FILE): must be a duration like 10s or 1m30s, not 10"}},
		{"not a duration either", "reconnect: {window: soon}\n", nil, nil, []string{"reconnect.window (file FILE): must be a duration like 10s or 1m30s, not \"soon\""}},
		{"number for text", "account: 123456789012\n", nil, nil, []string{"account (file FILE): must be text (in quotes"}},
		{"text for number", "workers: '2'\n", nil, nil, []string{`workers (file FILE): must be a whole number, not the text "2"`}},
		{"fraction", "workers: 1.5\n", nil, nil, []string{"workers (file FILE): must be a whole number, not 1.5"}},
		{"huge", "workers: 99999999999999999999\n", nil, nil, []string{"workers (file FILE): must be a whole number"}},
		{"not finite", "limits: {playerMessagesPerSecond: .inf}\n", nil, nil, []string{"limits.playerMessagesPerSecond (file FILE): must be a finite number"}},
		{"no value", "region:\n", nil, nil, []string{"region (file FILE): has no value"}},
		{"section for value", "region: {a: b}\n", nil, nil, []string{"region (file FILE): must be text (in quotes, if it looks like something else), not a section"}},
		{"value for section", "limits: 3\n", nil, nil, []string{"limits (file FILE): must be a section, not 3"}},
		{"value for list", "fleets: fleet-a\n", nil, nil, []string{`fleets (file FILE): must be a list, not the text "fleet-a"`}},
		{"value in list", "fleets: [fleet-a]\n", nil, nil, []string{`fleets[0] (file FILE): must be a section, not the text "fleet-a"`}},
		{"twice", "region: a\nregion: b\n", nil, nil, []string{"file FILE: ", "region", "already defined"}},
		{"no YAML", "a: [\n", nil, nil, []string{"file FILE: yaml"}},
		{"no section at the top", "- a\n", nil, nil, []string{"file FILE: "}},
		{"checked", "reconnect: {window: 11m}\nfleets: [{id: a, gameSessionsMax: 1}]\n", nil, nil, []string{"reconnect.window (file FILE): must be 0s to 600s", "fleets[0].id (file FILE): must be fleet-"}},

		{"locations", "locations: [{name: custom-a}, {name: b, gameSessionsMax: -1}, {name: b, cost: -1}]\nfleets: [{id: fleet-a, gameSessionsMax: 1, cost: -1, locations: [{name: c}]}]\naliases: []\n", nil, nil, []string{
			"locations[0].name (file FILE): must be", "locations[1].gameSessionsMax (file FILE): must not be negative", "locations[2].name (file FILE): is there twice", "locations[2].cost (file FILE): must not",
			"fleets[0].cost (file FILE): must not", "fleets[0].locations[0].name (file FILE): must be region or one of locations"}},

		{"unknown variable", "", []string{"TROUPE_RECONNECT_WINDWO=1s"}, nil, []string{"TROUPE_RECONNECT_WINDWO (environment TROUPE_RECONNECT_WINDWO): unknown variable; did you mean TROUPE_RECONNECT_WINDOW?"}},
		{"variable of a section", "", []string{"TROUPE_RECONNECT=1s"}, nil, []string{"unknown variable; did you mean TROUPE_RECONNECT_"}},
		{"variable of a list", "", []string{"TROUPE_FLEETS=fleet-a"}, nil, []string{"fleets (environment TROUPE_FLEETS): must be a list in JSON, like []"}},
		{"bad variables", "", []string{"TROUPE_WORKERS=many", "TROUPE_FAST_ENABLED=1"}, nil, []string{
			`workers (environment TROUPE_WORKERS): must be a whole number, not "many"`, `fast.enabled (environment TROUPE_FAST_ENABLED): must be true or false, not "1"`,
		}},
		{"checked variable", "", []string{"TROUPE_API_ADDR=0.0.0.0:80"}, nil, []string{"api.addr (environment TROUPE_API_ADDR): must be a loopback address"}},

		{"unknown flag", "", nil, []Flag{{"--set", "drain.grase", "1s"}}, []string{"drain.grase (flag --set): unknown key; did you mean drain.grace?"}},
		{"flag of a section", "", nil, []Flag{{"--set", "drain", "1s"}}, []string{"drain (flag --set): unknown key; did you mean "}},
		{"flag of a list", "", nil, []Flag{{"--set", "aliases", "a"}}, []string{"aliases (flag --set): must be a list in JSON"}},
		{"no list", "", []string{`TROUPE_FLEETS={"id": "fleet-a"}`}, nil, []string{"fleets (environment TROUPE_FLEETS): must be a list, not a section"}},
		{"more than a list", "", []string{"TROUPE_FLEETS=[] []"}, nil, []string{"fleets (environment TROUPE_FLEETS): must be a list in JSON", "there is more after its end"}},
		{"unknown key in a list", "", []string{`TROUPE_FLEETS=[{"id": "fleet-a", "gameSessionMax": 5}]`}, nil, []string{
			"fleets[0].gameSessionMax (environment TROUPE_FLEETS): unknown key; did you mean fleets[0].gameSessionsMax?"}},
		{"fraction in a list", "", []string{`TROUPE_FLEETS=[{"id": "fleet-a", "gameSessionsMax": 1.5}]`}, nil, []string{"fleets[0].gameSessionsMax (environment TROUPE_FLEETS): must be a whole number, not 1.5"}},
		{"huge number in a list", "", []string{`TROUPE_LOCATIONS=[{"name": "custom-a", "cost": 1e999}]`}, nil, []string{"locations[0].cost (environment TROUPE_LOCATIONS): must be a finite number"}},
		{"checked list", "", nil, []Flag{{"--set", "fleets", `[{"id": "a", "gameSessionsMax": 1}]`}}, []string{"fleets[0].id (flag --set): must be fleet-"}},
		{"bad flag", "", nil, []Flag{{"--drain-grace", "drain.grace", "1"}}, []string{`drain.grace (flag --drain-grace): must be a duration`}},
		{"bad number", "", nil, []Flag{{"--set", "limits.playerMessagesPerSecond", "1k"}}, []string{`limits.playerMessagesPerSecond (flag --set): must be a number, not "1k"`}},
		{"the one in effect is named", "region: '?'\n", []string{"TROUPE_REGION=!"}, []Flag{{"--set", "region", "/"}}, []string{"region (flag --set): must be letters"}},
		{"all at once", "regoin: x\n", []string{"TROUPE_NOPE=1"}, []Flag{{"--set", "workers", "x"}}, []string{"regoin (file", "TROUPE_NOPE (env", "workers (flag"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Sources{Defaults: host.Defaults(), Environ: append([]string{}, c.environ...), Flags: c.flags}
			if c.file != "" {
				s.File = writeFile(t, c.file)
			}
			if s.Environ == nil {
				s.Environ = []string{}
			}
			_, err := Load(s)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if want = strings.ReplaceAll(want, "FILE", s.File); !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

// Kubernetes sets variables for each service. Their names begin with the name of the service.
func TestVariablesOfKubernetes(t *testing.T) {
	var warnings []string
	environ := []string{
		"TROUPE_SERVICE_HOST=10.96.0.7", "TROUPE_SERVICE_PORT=8080", "TROUPE_SERVICE_PORT_HTTP=8080", "TROUPE_PORT=tcp://10.96.0.7:8080",
		"TROUPE_PORT_8080_TCP=tcp://10.96.0.7:8080", "TROUPE_PORT_8080_TCP_PROTO=tcp", "TROUPE_PORT_8080_TCP_PORT=8080", "TROUPE_PORT_8080_TCP_ADDR=10.96.0.7",
		"TROUPE_UDP_PLAYERS_SERVICE_HOST=fd00::7", "TROUPE_UDP_PLAYERS_PORT=udp://[fd00::7]:33400", "TROUPE_UDP_PLAYERS_PORT_33400_UDP_ADDR=fd00::7",
		"TROUPE_WORKERS=3",
	}
	c, err := Load(Sources{Defaults: host.Defaults(), Environ: environ, Warn: func(text string) { warnings = append(warnings, text) }})
	if err != nil || c.Workers != 3 {
		t.Fatalf("%d, %v", c.Workers, err)
	}
	if len(warnings) != 1 || strings.Contains(warnings[0], "WORKERS") {
		t.Fatalf("warnings %q", warnings)
	}
	for _, pair := range environ[:len(environ)-1] {
		if name, _, _ := strings.Cut(pair, "="); !strings.Contains(warnings[0], name) {
			t.Errorf("%s is not named: %s", name, warnings[0])
		}
	}
	if _, err := Load(Sources{Defaults: host.Defaults(), Environ: environ}); err != nil {
		t.Errorf("with nobody to warn: %v", err)
	}
	warnings = nil
	if _, err := Load(Sources{Defaults: host.Defaults(), Environ: []string{"TROUPE_WORKERS=3"}, Warn: func(text string) { warnings = append(warnings, text) }}); err != nil || warnings != nil {
		t.Errorf("%v, warnings %q", err, warnings)
	}
	// A variable that may be meant as a setting is still an error.
	for _, pair := range []string{"TROUPE_PORT=8080", "TROUPE_PORT=", "TROUPE_API_PORT=:8080", "TROUPE_SERVICE=10.96.0.7", "TROUPE_PORT_8080=x", "TROUPE_SERVICE_HOSTS=a"} {
		if _, err := Load(Sources{Defaults: host.Defaults(), Environ: []string{pair}}); err == nil || !strings.Contains(err.Error(), "unknown variable; did you mean") {
			t.Errorf("%s: %v", pair, err)
		}
	}
}

func TestNoSuchFile(t *testing.T) {
	_, err := Load(Sources{Defaults: host.Defaults(), Environ: []string{}, File: "no-such.yaml"})
	if err == nil || !strings.Contains(err.Error(), "file no-such.yaml: no such file") {
		t.Errorf("got %v", err)
	}
}

// TestEnvironmentOfTheProcess is the only test in which Load reads the environment of the process, its default.
func TestEnvironmentOfTheProcess(t *testing.T) {
	t.Setenv("TROUPE_WORKERS", "5")
	c, err := Load(Sources{Defaults: host.Defaults()})
	if err != nil || c.Workers != 5 {
		t.Errorf("got %d, %v", c.Workers, err)
	}
}

func FuzzConfigFile(f *testing.F) {
	f.Add([]byte("reconnect:\n  window: 10s\n"))
	f.Add([]byte("fleets:\n- {id: fleet-a, gameSessionsMax: 5}\nlimits: {unauthenticated: 0, playerBytesPerSecond: 1e3}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("? [1, 2]\n: {x: !!binary aGk=}\n"))
	f.Add([]byte("<<: {region: x}\naccount: 000000000000\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := newLoader(host.Defaults())
		l.file("file f", data)
		r, err := l.result(nil, false)
		if err != nil || r.Invalid != nil {
			return
		}
		if err := r.Config.Validate(); err != nil {
			t.Errorf("taken, but %v", err)
		}
		printed(t, r)
	})
}

// Parsing a list from the environment never panics. A list that is accepted is printed as it was set.
func FuzzListText(f *testing.F) {
	f.Add(`[{"id": "fleet-a", "gameSessionsMax": 5, "locations": [{"name": "us-east-1", "cost": 1e-3}]}]`)
	f.Add(`[[[{"id": 1e999}]], "\ud800"]`)
	f.Add(`[1] x`)
	f.Add(`[{"id": null, "id": true}]`)
	f.Fuzz(func(t *testing.T, text string) {
		l := newLoader(host.Defaults())
		l.environment([]string{"TROUPE_FLEETS=" + text})
		if r, err := l.result(nil, false); err == nil && r.Invalid == nil {
			printed(t, r)
		}
	})
}
