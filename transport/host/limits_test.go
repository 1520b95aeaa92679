package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/actors/script"
	"troupe/messages/wire"
)

// reliability.md 5.2. A login costs the host about 75 us of CPU time, of which the connection takes 55. A
// lower rate would therefore spare running games little, and would make players wait.
func TestTheDefaultsAdmitEightThousandLoginsPerSecond(t *testing.T) {
	c := Defaults()
	if got := c.gatewayLimits(); got.LoginsPerSecond < 8000 || got.LoginsWaiting != c.Limits.LoginsWaiting {
		t.Errorf("%v logins per second, %d may wait", got.LoginsPerSecond, got.LoginsWaiting)
	}
}

// The tables of reliability.md 5.1 and 5.2 have the default values.
func TestTheDefaultsAreThoseOfTheSpecification(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "spec", "reliability.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## 5. Overload\n")
	part, _, _ = strings.Cut(part, "\n## 6. ")
	rows := make(map[string]string)
	for line := range strings.SplitSeq(part, "\n") {
		if cells := strings.Split(strings.Trim(line, "|"), " | "); len(cells) == 4 {
			rows[strings.TrimSpace(cells[0])], rows[strings.TrimSpace(cells[2])] = cells[1], cells[3]
		}
	}
	c := Defaults()
	l, d := &c.Limits, &c.DTLS
	for row, want := range map[string][]string{
		"accept to LOGIN":                               {seconds(l.LoginTimeout)},
		"connections without a login":                   {number(l.Unauthenticated) + " in all", number(l.UnauthenticatedPerIP) + " per IP"},
		"new connections per IP":                        {number(l.ConnectionsPerIPPerSecond) + "/s", "burst " + number(l.ConnectionsPerIPBurst)},
		"WebSocket message / frame headers per message": {size(wire.UnitMax)},
		"malformed packets":                             {"after " + number(malformedPackets)},
		"player inbound":                                {number(l.PlayerMessagesPerSecond) + " msg/s", "burst " + number(l.PlayerMessagesBurst), size(l.PlayerBytesPerSecond) + "/s"},
		"group operations":                              {number(l.GroupOperationsPerSecond) + "/s"},
		"deliveries caused per game session":            {number(l.DeliveriesPerGameSessionPerSecond) + "/s"},
		"groups per player, per session":                {number(groupsPerPlayer) + ", " + number(groupsPerGameSession)},
		"DTLS half-open":                                {number(d.HalfOpen) + " in all", number(d.HalfOpenPerIP) + " per IP", number(d.HellosPerIP) + " new ones per second and IP"},
		"game session mailbox":                          {number(c.Session.MailboxMessages) + " or " + size(c.Session.MailboxBytes)},
		"script watchdog":                               {seconds(c.Script.Callback), "memory " + size(c.Script.MemoryMax)},
		"reliable bytes of a game session's players":    {size(l.GameSessionBytesPerSecond) + "/s"},
		"logins":         {number(l.LoginsPerSecond) + "/s"},
		"API body, rate": {number(c.API.Rate) + "/s per key"},
		"log line":       {size(script.LineTextMax)},
	} {
		for _, w := range want {
			if !strings.Contains(rows[row], w) {
				t.Errorf("%s: the host has %q, the specification says %q", row, w, rows[row])
			}
		}
	}
	if want := "after " + seconds(l.TooFastFor) + " over the limit"; !strings.Contains(part, want) {
		t.Errorf("section 5.1 does not say %q", want)
	}
}

func number[T int | int64 | float64](n T) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", int64(n)/1000, int64(n)%1000)
}

func size[T int | int64 | float64](n T) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", int64(n)>>10)
	}
	return fmt.Sprintf("%d MiB", int64(n)>>20)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }

// Uploaded scripts may run in Node.js if they run as another user, or if the operator allows them to run as
// the host's user.
func TestWhereUploadedScriptsMayRunInNode(t *testing.T) {
	for _, c := range []struct {
		node Node
		may  bool
	}{
		{Node{}, false}, {Node{UID: os.Geteuid()}, false}, {Node{GID: 65534}, false}, {Node{UID: os.Geteuid() + 1}, true}, {Node{AllowUploaded: true}, true},
	} {
		if got := newPrograms(&Script{Node: c.node}).uploaded; got != c.may {
			t.Errorf("%+v: %v", c.node, got)
		}
	}
}

func TestTheLimitOfAControlGroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		groups string
		files  map[string]string
		want   int64
	}{
		"a service of systemd":      {"0::/system.slice/troupe.service\n", map[string]string{"system.slice/troupe.service/memory.max": "1000", "system.slice/memory.max": "max"}, 1000},
		"a group in a smaller one":  {"0::/a/b\n", map[string]string{"a/b/memory.max": "1000", "a/memory.max": "500"}, 500},
		"a container":               {"0::/\n", map[string]string{"memory.max": "2000\n"}, 2000},
		"a container, version 1":    {"5:cpu:/\n4:memory:/docker/abc\n0::/\n", map[string]string{"memory/memory.limit_in_bytes": "3000\n"}, 3000},
		"version 1 without a limit": {"4:memory:/a\n", map[string]string{"memory/a/memory.limit_in_bytes": "9223372036854771712", "memory/memory.limit_in_bytes": "9223372036854771712"}, 0},
		"another controller":        {"4:cpu,cpuacct:/a\n", map[string]string{"memory/a/memory.limit_in_bytes": "10"}, 0},
		"no limit":                  {"0::/a\n", map[string]string{"a/memory.max": "max\n"}, 0},
		"nothing":                   {"", nil, 0},
		"nonsense":                  {"a\n\n:::\n0::../..\n", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for file, text := range c.files {
				file = filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := groupMemoryMax(c.groups, root); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}
