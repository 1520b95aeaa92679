package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"

	"troupe/bench/faults"
	"troupe/bench/suite"
	"troupe/transport/host"
)

// command is a command line in the documents.
type command struct {
	text  string // command line as in the document, but with single spaces and without its comment
	host  bool   // the command starts the host for the commands after it
	stdin string
	want  string // pattern of its output; ^ and $ match at lines
	later bool   // the output may take a moment
	exit  int
	stop  bool // stop the host and the members of etcd before this command
	etcd  bool // the command starts a member of etcd
	aws   bool // the command refers to something that an aws command has created
	// the command is a game server, which runs beside the commands after it
	server bool
}

// documented lists the commands of the documents in the order in which they run, by the host that they need. The test
// fails for a documented command that is missing here, and for a listed command that is no longer documented.
var documented = map[string][]command{
	"dev": {
		{text: "bin/troupe dev docs/scripts/examples/relay/relay.js", host: true},
		{text: "export AWS_ENDPOINT_URL=http://127.0.0.1:8080 AWS_DEFAULT_REGION=us-east-1 AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any"},
		{text: "aws gamelift describe-game-sessions --fleet-id fleet-dev", want: `"GameSessions": \[\]`},
		{text: "aws gamelift create-game-session --alias-id alias-dev --name lobby --maximum-player-session-count 4", want: `"Status": "ACTIV`},
		{text: `aws gamelift search-game-sessions --alias-id alias-dev --filter-expression "hasAvailablePlayerSessions=true"`, want: `"Name": "lobby"`, later: true},
		{text: "bin/troupe client --bots 4 --duration 10s", want: `^bots 4, failed 0, connections lost 0`},
		{text: "bin/troupe client --bots 4 --drop 3s --for 1s --duration 20s", want: `^bots 4, failed 0, connections lost [1-9]`},
		{text: "bin/troupe client --bots 2", want: `^bots 2, failed 0, `},
		{text: "bin/troupe client", stdin: "hello\n/join 1\n/to 2 hello\n/quit\n", want: `^\* joined arn:`},
		{text: "bin/troupe client --transport kcp --ca ~/.config/troupe/tls/ca/cert.pem", stdin: "/quit\n", want: `^\* joined arn:.* over kcp$`},
		{text: "curl -s http://127.0.0.1:8080/metrics | grep '^troupe_'", want: `^troupe_`},
		// exit code of curl for a timeout: the response is a stream
		{text: "curl -N 'http://127.0.0.1:8080/events?queue=eu&types=PlacementFulfilled,PlacementFailed'", exit: 28},
		{text: "aws gamelift --endpoint-url http://127.0.0.1:8080 --region us-east-1 --no-sign-request start-game-session-placement --placement-id p1 " +
			"--game-session-queue-name queue-dev --maximum-player-session-count 4 --desired-player-sessions PlayerId=ann PlayerId=bob", want: `"Status": "PENDING"`},
		{text: "aws gamelift --endpoint-url http://127.0.0.1:8080 --region us-east-1 --no-sign-request describe-game-session-placement --placement-id p1",
			want: `"Status": "FULFILLED"`, later: true},
		{text: "aws gamelift start-matchmaking --configuration-name match-dev --ticket-id ticket-1 --players PlayerId=ann", want: `"Status": "QUEUED"`},
		{text: "bin/troupe admin matchmaking", want: `^match-dev +rules-dev +[01] `},
		{text: "bin/troupe admin matchmaking why ticket-1", want: `^No other ticket waits\.$`, later: true, aws: true},
		{text: "zip -r ../duel.zip .", want: `adding: server.js`},
		{text: "aws gamelift create-script --name duel --script-version 1.0 --zip-file fileb://../duel.zip", want: `"ScriptId": "script-`},
		{text: "aws gamelift create-fleet --name duel --script-id script-... --runtime-configuration " +
			"'ServerProcesses=[{LaunchPath=/local/game/server.js,ConcurrentExecutions=20}]'", want: `"Status": "NEW"`},
		{text: "aws gamelift update-script --script-id script-... --script-version 1.1 --zip-file fileb://../duel.zip", want: `"Version": "1.1"`},
	},
	"servers": {
		{text: "bin/troupe dev", host: true},
		{text: `eval "$(bin/troupe admin compute env)"`},
		{text: "go run ./docs/servers/example", server: true},
		{text: "aws gamelift create-game-session --fleet-id fleet-anywhere-dev --location custom-dev --maximum-player-session-count 4", want: `"Status": "ACTIVATING"`, later: true},
		{text: "aws gamelift create-player-session --game-session-id arn:... --player-id ann", want: `"Status": "RESERVED"`, later: true, aws: true},
		{text: "aws gamelift create-location --location-name custom-lan", want: `"LocationName": "custom-lan"`},
		{text: "aws gamelift create-fleet --name arena --compute-type ANYWHERE --locations Location=custom-lan --anywhere-configuration Cost=0.10", want: `"ComputeType": "ANYWHERE"`},
		{text: "aws gamelift register-compute --fleet-id fleet-... --compute-name host-1 --location custom-lan --ip-address 203.0.113.7", want: `"GameLiftServiceSdkEndpoint": "ws`},
		{text: "aws gamelift get-compute-auth-token --fleet-id fleet-... --compute-name host-1", want: `"AuthToken": "`},
		{text: `eval "$(bin/troupe admin compute env --fleet fleet-... --compute host-1)"`, aws: true},
	},
	"game": {
		{text: "bin/troupe new game mygame", want: `^mygame is a game that runs`},
		{text: "bin/troupe dev mygame", host: true},
	},
	"serve": {
		{text: "troupe admin keys new", want: `^id: TRPE`},
		{text: "troupe config check troupe.yaml", want: `^troupe.yaml: valid$`},
		{text: "troupe config print --config troupe.yaml", want: `^  window: 30s +# file troupe.yaml$`},
		{text: "troupe config schema > troupe.schema.json"},
		{text: "troupe serve --config troupe.yaml --announce addresses.json", host: true},
		{text: "export AWS_ACCESS_KEY_ID=TRPEA2B3C4D5E6F7G2H3 AWS_SECRET_ACCESS_KEY=... AWS_CA_BUNDLE=ca.pem"},
		{text: "aws gamelift describe-game-sessions --fleet-id fleet-arena --endpoint-url https://games.example.com:8443 --region us-east-1", want: `"GameSessions": \[\]`},
		{text: "troupe admin sessions --endpoint https://games.example.com:8443 --status ACTIVE", want: `^GAME SESSION `},
		{text: "troupe backup --store /var/lib/troupe/store.db backup.db", want: `^written and checked`},
		{text: "troupe restore --store /var/lib/troupe/store.db backup.db", stop: true, want: `^checked and restored`},
		{text: "troupe store check --store /var/lib/troupe/store.db", want: `^nothing is damaged$`},
	},
	"nodes": {
		{text: "troupe dev --nodes 3", host: true},
		{text: "troupe client --bots 12 --duration 10s", want: `^bots 12, failed 0, connections lost 0`},
		{text: "troupe admin nodes", want: `^dev-3 +live +\S+ +all `},
		{text: "troupe admin sessions --status ACTIVE", want: `^fleet-dev/gsess-.* ACTIVE .* dev-[123] `},
		{text: "troupe top --once", want: `  3 nodes$`},
		{text: "troupe admin drain dev-3", want: `^dev-3 is draining: `},
	},
	"etcd": {
		{text: "troupe etcd --name a --dir /var/lib/troupe/etcd", etcd: true},
		{text: "troupe etcd snapshot etcd.snapshot", want: `^written: etcd.snapshot, `},
		{text: "mv /var/lib/troupe/etcd /var/lib/troupe/etcd.old", stop: true},
		{text: "troupe etcd restore etcd.snapshot --name a --dir /var/lib/troupe/etcd", want: `^restored: `},
		{text: "troupe admin cluster init keys --cluster prod", want: `^keys/ca.pem `},
		{text: "troupe admin cluster cert keys etcd-a --host 10.0.0.1", want: `^keys/etcd-a.pem `},
		{text: "troupe admin cluster cert keys etcd-b --host 10.0.0.2", want: `^keys/etcd-b.pem `},
		{text: "troupe admin cluster cert keys etcd-c --host 10.0.0.3", want: `^keys/etcd-c.pem `},
		{text: "troupe etcd --name a --dir /var/lib/troupe/etcd-a --listen https://10.0.0.1:2379 --ca keys/ca.pem --cert keys/etcd-a.pem --key keys/etcd-a.key " + threeMembers, etcd: true},
		{text: "troupe etcd --name b --dir /var/lib/troupe/etcd-b --listen https://10.0.0.2:2379 --ca keys/ca.pem --cert keys/etcd-b.pem --key keys/etcd-b.key " + threeMembers, etcd: true},
		{text: "troupe etcd --name c --dir /var/lib/troupe/etcd-c --listen https://10.0.0.3:2379 --ca keys/ca.pem --cert keys/etcd-c.pem --key keys/etcd-c.key " + threeMembers, etcd: true},
		{text: "troupe etcd snapshot three.snapshot --endpoint https://10.0.0.1:2379 --ca keys/ca.pem --cert keys/etcd-a.pem --key keys/etcd-a.key", want: `^written: `},
		{text: "mv /var/lib/troupe/etcd-a /var/lib/troupe/etcd-a.old", stop: true},
		{text: "troupe etcd restore three.snapshot --name a --dir /var/lib/troupe/etcd-a " + threeMembers, want: `^restored: `},
	},
}

const threeMembers = "--peer a=https://10.0.0.1:2380 --peer b=https://10.0.0.2:2380 --peer c=https://10.0.0.3:2380"

// makeTarget matches a make command line. These commands are not run: `make run` is troupe dev on the default ports,
// and the others are the tests themselves or take minutes. The test only checks that the target exists.
var makeTarget = regexp.MustCompile(`^make ([a-z-]+)( |$)`)

// benchLine matches a command line of troupe bench, troupe faults or troupe match. These commands are not run here
// either: testdata/script/bench.txtar, faults_test.go and match_test.go run shorter versions. The test only checks that
// the command accepts the flags and the names.
var benchLine = regexp.MustCompile(`^(?:bin/)?troupe ((?:bench|faults|match) .*)$`)

func checkBenchLine(line string) error {
	var c commands
	parser, err := kong.New(&c, kong.Exit(func(int) {}), kong.Writers(io.Discard, io.Discard), kong.Bind(streams{}))
	if err != nil {
		return err
	}
	if _, err := parser.Parse(strings.Fields(strings.ReplaceAll(line, "'", ""))); err != nil {
		return err
	}
	for _, name := range suite.Expand(c.Bench.Run.Workload) {
		if _, err := suite.Find(name); err != nil {
			return err
		}
	}
	// The plan file of a user does not exist here. The example plan in the documents has a test in bench/faults.
	if name := c.Faults.Run.Scenario; name != "" && filepath.Ext(name) != ".yaml" {
		if _, err := faults.Find(name); err != nil {
			return err
		}
	}
	return nil
}

// isCommand reports whether a block contains command lines.
func (b *block) isCommand() bool { return b.lang == "" || b.lang == "sh" || b.lang == "console" }

func TestDocumentedCommandsAreKnown(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, b := range blocks(t) {
		if !b.isCommand() {
			continue
		}
		for _, line := range b.commands() {
			shown[line] = true
			if target := makeTarget.FindStringSubmatch(line); target != nil {
				if !bytes.Contains(makefile, []byte("\n"+target[1]+":")) {
					t.Errorf("%v: there is no target of %q", b, line)
				}
				continue
			}
			if bench := benchLine.FindStringSubmatch(line); bench != nil {
				if err := checkBenchLine(bench[1]); err != nil {
					t.Errorf("%v: %s: %v", b, line, err)
				}
				continue
			}
			known := false
			for _, list := range documented {
				known = known || slices.ContainsFunc(list, func(c command) bool { return c.text == line })
			}
			if !known {
				t.Errorf("%v: this command is run by no test: add it to documented\n\t%s", b, line)
			}
		}
	}
	for name, list := range documented {
		for _, c := range list {
			if !shown[c.text] {
				t.Errorf("%s: no document shows this command: change or remove it\n\t%s", name, c.text)
			}
		}
	}
}

// Each documented command does what the documents say. Only ports, paths and durations differ.
func TestDocumentedCommands(t *testing.T) {
	if runtime.GOOS != "linux" { // the documents use Linux paths and tools
		t.Skip("the commands of the documents are run on Linux only")
	}
	for name, list := range documented {
		t.Run(name, func(t *testing.T) {
			r := newReader(t)
			for _, c := range list {
				r.follow(&c)
			}
		})
	}
}

// reader follows the documents in a separate folder. Commands of troupe run in this process.
type reader struct {
	*testing.T
	root   string // of the repository
	dir    string
	addrs  host.Announcement
	script string            // id of the created script
	fleet  string            // id of the created fleet
	game   string            // id of the created game session
	host   *process          // nil while no host is running
	etcd   []*process        // members of etcd that are running
	ports  map[string]string // addresses of members, by the address in the document
}

func newReader(t *testing.T) *reader {
	r := &reader{T: t, dir: t.TempDir(), ports: map[string]string{}}
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	r.root = root
	for _, err := range []error{
		os.Symlink(filepath.Join(root, "docs"), filepath.Join(r.dir, "docs")), os.MkdirAll(filepath.Join(r.dir, "srv/duel"), 0o700),
		os.WriteFile(filepath.Join(r.dir, "troupe.yaml"), []byte(movePaths(t, r.dir, servedConfiguration(t))), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(r.dir)
	r.set(append([]string{"HOME=" + r.dir, "AWS_EC2_METADATA_DISABLED=true", "AWS_PAGER=", "AWS_MAX_ATTEMPTS=1"}, documentedSecrets...)...)
	return r
}

// set sets environment variables.
func (r *reader) set(pairs ...string) {
	r.Helper()
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		r.Setenv(name, value)
	}
}

// servedConfiguration returns the configuration for `troupe serve --config troupe.yaml`: the first one after that
// command.
func servedConfiguration(t *testing.T) string {
	t.Helper()
	behind := false
	for _, b := range blocks(t) {
		if behind && b.lang == "yaml" {
			return b.text
		}
		behind = behind || strings.Contains(b.text, "troupe serve --config troupe.yaml")
	}
	t.Fatal("no document shows the configuration of troupe serve")
	return ""
}

// missing returns why a command cannot be run here, or "".
func missing(c *command) string {
	tools := strings.Fields(c.text)[:1]
	if strings.Contains(c.text, "duel") {
		tools = append(tools, "zip") // a command creates the archive that other commands upload
	}
	if c.aws {
		tools = append(tools, "aws") // an aws command must create what this one refers to
	}
	for _, tool := range tools {
		if !slices.Contains([]string{"aws", "curl", "zip"}, tool) {
			continue
		}
		if _, err := exec.LookPath(tool); err != nil {
			return "there is no " + tool
		}
		if testing.Short() && tool != "curl" {
			return tool + " takes seconds"
		}
	}
	return ""
}

// follow runs one command and checks its result.
func (r *reader) follow(c *command) {
	r.Helper()
	if why := missing(c); why != "" {
		r.Logf("not run, as %s: %s", why, c.text)
		return
	}
	if c.stop {
		r.stop()
	}
	line := r.moved(c.text)
	if set, ok := strings.CutPrefix(line, "export "); ok {
		r.set(strings.Fields(set)...)
		return
	}
	if inner, ok := strings.CutPrefix(line, `eval "$(`); ok {
		r.eval(strings.TrimSuffix(inner, `)"`))
		return
	}
	if c.server {
		r.serve(line)
		return
	}
	if c.host {
		r.host = starting(r.T, strings.Fields(line)[1:]...)
		until(r, line, func() error {
			text, err := os.ReadFile("addresses.json")
			if err == nil {
				err = json.Unmarshal(text, &r.addrs)
			}
			return err
		})
		return
	}
	if c.etcd {
		r.etcd = append(r.etcd, starting(r.T, strings.Fields(line)[1:]...))
		return
	}
	for _, member := range r.etcd {
		prints(r.T, &member.err, `"message":"etcd serves"}$`)
	}
	var out []byte
	try := func() (err error) {
		out, err = r.run(c, line)
		return err
	}
	err := try()
	if err != nil && c.later {
		until(r, c.text, try)
	} else if err != nil {
		r.Fatalf("%s\nwhich is here\n%s\n%v, and prints\n%s\nwant %s", c.text, line, err, out, c.want)
	}
	if id := regexp.MustCompile(`"ScriptId": "([^"]+)"`).FindSubmatch(out); id != nil {
		r.script = string(id[1])
	}
	for pattern, id := range map[*regexp.Regexp]*string{createdFleet: &r.fleet, createdGame: &r.game} {
		if found := pattern.FindSubmatch(out); found != nil {
			*id = string(found[1])
		}
	}
}

var (
	createdFleet = regexp.MustCompile(`"FleetId": "(fleet-[^"]+)"`)
	createdGame  = regexp.MustCompile(`"GameSessionId": "([^"]+)"`)
	exported     = regexp.MustCompile(`(?m)^export (\w+)='?([^'\n]*)'?$`)
)

// eval sets the variables that a troupe command prints.
func (r *reader) eval(line string) {
	r.Helper()
	p := begin(nil, append(strings.Fields(line)[1:], "--endpoint", r.addrs.APIURL)...)
	if code := p.wait(r); code != 0 {
		r.Fatalf("%s: exit code %d: %s", line, code, p.err.String())
	}
	found := exported.FindAllStringSubmatch(p.out.String(), -1)
	if len(found) != 4 {
		r.Fatalf("%s prints\n%s", line, p.out.String())
	}
	for _, v := range found {
		r.set(v[1] + "=" + v[2])
	}
}

// serve runs a program of this repository until the test ends.
func (r *reader) serve(line string) {
	r.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	_ = free.Close()
	folder, _ := strings.CutPrefix(line, "go run ")
	build := exec.Command("go", "build", "-o", filepath.Join(r.dir, "server"), folder)
	build.Dir = r.root
	if out, err := build.CombinedOutput(); err != nil {
		r.Fatalf("%s: %v\n%s", line, err, out)
	}
	run := exec.Command(filepath.Join(r.dir, "server"))
	run.Env = append(os.Environ(), "PORT="+port)
	if err := run.Start(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
	})
}

// run runs one command once. It returns an error if the result differs from the expected one.
func (r *reader) run(c *command, line string) (out []byte, err error) {
	code := 0
	if args, to := r.inProcess(line); args != nil {
		p := begin(strings.NewReader(c.stdin), args...)
		code = p.wait(r)
		if out = []byte(p.out.String() + p.err.String()); to != "" {
			err = os.WriteFile(to, out, 0o600)
		}
	} else {
		cmd := exec.CommandContext(r.Context(), "sh", "-c", line)
		if cmd.Stdin = strings.NewReader(c.stdin); strings.Contains(line, "../duel.zip") { // in the folder of the script
			cmd.Dir = filepath.Join(r.dir, "srv/duel")
		}
		out, err = cmd.CombinedOutput()
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			code, err = exit.ExitCode(), nil
		}
	}
	if err == nil && code != c.exit {
		err = fmt.Errorf("exit code %d", code)
	}
	if err == nil && !regexp.MustCompile("(?m)"+c.want).Match(out) {
		err = errors.New("it ends well")
	}
	return out, err
}

// inProcess returns the arguments of a troupe command line, and the file to which its output is redirected. For other
// programs it returns nil.
func (r *reader) inProcess(line string) (args []string, to string) {
	line, to, _ = strings.Cut(line, " > ")
	words := strings.Fields(strings.ReplaceAll(line, "~/", r.dir+"/"))
	if filepath.Base(words[0]) != "troupe" {
		return nil, ""
	}
	return words[1:], to
}

// moved returns a command line with the ports, paths and durations of the test.
func (r *reader) moved(line string) string {
	line = movedPaths.ReplaceAllString(line, r.dir+"/$1")
	if strings.Contains(line, "10.0.0.") || strings.HasPrefix(line, "troupe etcd ") {
		line = r.movedEtcd(line)
	}
	for old, now := range map[string]string{
		"http://127.0.0.1:8080": r.addrs.APIURL, "https://games.example.com:8443": r.addrs.APIURL, "=ca.pem": "=" + r.addrs.CA,
		"SECRET_ACCESS_KEY=...": "SECRET_ACCESS_KEY=" + strings.TrimPrefix(documentedSecrets[0], "GAME_SECRET="), "script-...": r.script, "fleet-...": r.fleet, "arn:...": r.game,
		"--duration 10s": "--duration 300ms", "--drop 3s --for 1s --duration 20s": "--drop 200ms --for 50ms --duration 1s", "curl -N": "curl -sN --max-time 0.3",
	} {
		line = strings.ReplaceAll(line, old, now)
	}
	switch words := strings.Fields(line); {
	case strings.HasSuffix(words[0], "troupe") && words[1] == "client":
		line += " --api " + r.addrs.APIURL
		if strings.Contains(line, "--bots") && !strings.Contains(line, "--duration") {
			line += " --duration 300ms"
		}
		if strings.Contains(line, "kcp") {
			line += " --kcp-addr " + r.addrs.KCP
		}
	case strings.HasSuffix(words[0], "troupe") && (words[1] == "dev" || words[1] == "serve"):
		for _, listener := range []string{"api", "ws", "fast", "wss", "dtls", "kcp"} {
			line += " --" + listener + "-addr 127.0.0.1:0"
		}
		if words[1] == "serve" {
			line += " --set api.tls=true" // as in the section on access keys
		} else {
			line += " --announce addresses.json"
		}
	// the documents show it for the default address, as the host is started on it there
	case words[0] == "troupe" && (words[1] == "top" || len(words) > 2 && slices.Contains([]string{"admin nodes", "admin sessions", "admin drain"}, words[1]+" "+words[2])) &&
		!strings.Contains(line, "--endpoint"):
		line += " --endpoint " + r.addrs.APIURL
	// the documents show it as for AWS, without an endpoint
	case words[0] == "aws" && !strings.Contains(line, "--endpoint-url") && os.Getenv("AWS_ENDPOINT_URL") == "":
		line += " --region us-east-1 --no-sign-request --endpoint-url " + r.addrs.APIURL
	}
	return line
}

var (
	etcdAddress = regexp.MustCompile(`(127\.0\.0\.1|10\.0\.0\.[1-3]):23(79|80)`)
	etcdMachine = regexp.MustCompile(`\b10\.0\.0\.[1-3]\b`)
)

// movedEtcd returns a command line in which free addresses of this machine replace the addresses of members, the default ones included.
func (r *reader) movedEtcd(line string) string {
	for _, kind := range []struct{ of, unless, flag string }{
		{"troupe etcd snapshot ", " --endpoint ", " --endpoint http://127.0.0.1:2379"},
		{"troupe etcd restore ", " --peer ", " --peer-listen http://127.0.0.1:2380"},
		{"troupe etcd --name", " --peer ", " --peer-listen http://127.0.0.1:2380"},
		{"troupe etcd --name", " --listen ", " --listen http://127.0.0.1:2379"},
	} {
		if strings.HasPrefix(line, kind.of) && !strings.Contains(line, kind.unless) {
			line += kind.flag
		}
	}
	line = etcdAddress.ReplaceAllStringFunc(line, func(at string) string {
		for r.ports[at] == "" { // outgoing connections take none of these
			if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))); err == nil {
				r.ports[at] = l.Addr().String()
				_ = l.Close()
			}
		}
		return r.ports[at]
	})
	return etcdMachine.ReplaceAllString(line, "127.0.0.1")
}

// stop stops the host and the members of etcd. Each must exit with code 0.
func (r *reader) stop() {
	r.Helper()
	all := r.etcd
	if r.host != nil {
		all = append(all, r.host)
	}
	for _, p := range all {
		p.signal(syscall.SIGTERM)
	}
	for _, p := range all {
		if code := p.wait(r); code != 0 {
			r.Errorf("exit code %d\n%s", code, &p.err)
		}
	}
	r.host, r.etcd = nil, nil
}
