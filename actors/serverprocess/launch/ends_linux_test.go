package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/child"
	"troupe/actors/serverprocess"
	"troupe/messages"
	"troupe/messages/counters"
)

// shell returns a game server that is a shell script.
func shell(script string) *messages.GameServer {
	return &messages.GameServer{Path: "/bin/sh", Args: []string{"-c", script}}
}

// open makes a folder in which every user may write, for this test and its parts.
func open(t *testing.T) string {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// pidIn returns the process id that a file has.
func pidIn(t *testing.T, path ...string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(content(t, path...)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const workDir = "LAUNCH_TEST_DIR" // the variable of the folder in which beHost works

func init() {
	roles["host"] = beHost
	roles["listen"] = func() {
		if _, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT")); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

// beHost is a host that runs wrapper scripts: as its own user, and as another one if it can.
func beHost() {
	l := New(Options{Log: zerolog.Nop(), Counters: new(counters.Set), Compute: "box", Tell: func(any) {},
		Authorize: func(context.Context, messages.FleetID, string, string) (Access, error) { return Access{}, nil }})
	for _, user := range []string{"", "nobody"} {
		if CheckUser(user) != nil {
			continue
		}
		s := shell(`exec > /dev/null 2>&1 # nobody reads that after the end of the host
			sh -c 'trap "touch asked-$1; exit" TERM; echo $$ > polite-$1; while :; do sleep 0.05; done' - "$1" &
			setsid sh -c 'trap "" TERM; echo $$ > stubborn-$1; while :; do sleep 0.05; done' - "$1" &
			while ! test -s polite-$1 -a -s stubborn-$1; do sleep 0.05; done
			echo $$ > up-$1
			wait`)
		s.Args, s.Dir, s.User = append(s.Args, "-", user), os.Getenv(workDir), user
		l.Configure(messages.FleetID("fleet-"+user), s, "here", map[string]int{"here": 1})
	}
	select {}
}

// The kernel kills a wrapper when its host is killed, but not the server that it has started. The next host ends that,
// and nothing else, before it starts another.
func TestTheNextHostEndsWhatAKilledOneHasLeft(t *testing.T) {
	dir, tmp := open(t), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	other := exec.Command("sleep", "1000") // not of that host
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), role+"=host", workDir+"="+dir)
	for _, cmd := range []*exec.Cmd{other, host} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	}
	users := []string{"", "nobody"}
	if CheckUser("nobody") != nil {
		users = users[:1]
	}
	wait := &owner{T: t}
	for _, u := range users {
		wait.await("processes of "+u, func() bool {
			info, err := os.Stat(filepath.Join(dir, "up-"+u))
			return err == nil && info.Size() > 0
		})
	}
	early := newOwner(t, nil) // beside a host that lives
	<-early.swept
	_ = host.Process.Kill()
	_, _ = host.Process.Wait()
	var left []int
	for _, u := range users {
		wrapper := pidIn(t, dir, "up-"+u)
		wait.await("the end of a wrapper", func() bool { return !running(wrapper) })
		left = append(left, pidIn(t, dir, "polite-"+u), pidIn(t, dir, "stubborn-"+u))
	}
	for _, pid := range left {
		t.Cleanup(func() {
			if running(pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
		if !running(pid) {
			t.Errorf("%d is not left: this test shows nothing", pid)
		}
	}
	o := newOwnerAt(t, pace{close: time.Hour}, nil)
	o.Configure(fleet, shell("sleep 1000"), "here", map[string]int{"here": 1})
	for _, u := range users {
		wait.await("SIGTERM for the process of "+u, func() bool { return there(filepath.Join(dir, "asked-"+u)) })
	}
	o.log.mu.Lock()
	if text := strings.Join(o.log.all, ""); strings.Contains(text, "game server started") {
		t.Errorf("started before the others have ended: %s", text)
	}
	o.log.mu.Unlock()
	o.Close() // ends their time
	for _, pid := range left {
		wait.await("an end", func() bool { return !running(pid) })
	}
	o.logged("which was killed, were still there")
	if !running(other.Process.Pid) {
		t.Error("a process of others is ended")
	}
	early.Close()
	if folders, _ := filepath.Glob(filepath.Join(tmp, "*")); len(folders) != 0 {
		t.Errorf("left: %q", folders)
	}
}

// A wrapper may end before its server, which needs time to say good-bye.
func TestAServerGetsItsGraceAfterItsWrapperHasEnded(t *testing.T) {
	const slow = `trap "sleep 0.5; echo saved; exit" TERM; echo up; touch up; while :; do sleep 0.05; done`
	for name, script := range map[string]string{
		"in the group":      "sh -c '" + slow + "' & wait",
		"out of the group":  "setsid sh -c '" + slow + "' & wait",
		"of its own accord": "setsid sh -c '" + slow + "' & until test -e up; do sleep 0.05; done; exit",
	} {
		t.Run(name, func(t *testing.T) {
			o := newOwner(t, nil)
			s := shell(script)
			s.Dir = t.TempDir()
			o.Configure(fleet, s, "here", map[string]int{"here": 1})
			o.logged(`"message":"up"`)
			o.Configure(fleet, s, "here", nil)
			next[Exited](o)
			o.logged(`"message":"saved"`)
		})
	}
}

// One that does not end is killed with its group, even if its wrapper has ended.
func TestAServerThatIgnoresSIGTERMIsKilledAfterItsWrapper(t *testing.T) {
	dir := t.TempDir()
	o := newOwner(t, nil)
	s := shell(`sh -c 'trap "" TERM; echo $$ > stubborn; echo up; while :; do sleep 0.05; done' & wait`)
	s.Dir = dir
	o.Configure(fleet, s, "here", map[string]int{"here": 1})
	id := o.logged(`"message":"up"`)
	began := time.Now()
	o.Close()
	if d := time.Since(began); d < o.pace.close {
		t.Errorf("killed after %v", d)
	}
	if want := []any{Starts{boxed(id)}, Exited{boxed(id)}}; !reflect.DeepEqual(o.got, want) {
		t.Errorf("%+v", o.got)
	}
	pid := pidIn(t, dir, "stubborn")
	o.await("its end", func() bool { return !running(pid) })
}

// Whatever a server does, it costs itself at most, and the event says what happened.
func TestServersThatBehaveBadly(t *testing.T) {
	dir := open(t)
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]struct {
		server *messages.GameServer
		code   string
		texts  []string
		then   string // what the host's log has in the end
	}{
		"ends at once":                 {shell("exit 0"), serverprocess.EventCrashed, []string{"exit status 0", "printed nothing"}, ""},
		"is killed":                    {shell("kill -9 $$"), serverprocess.EventCrashed, []string{"signal: killed"}, ""},
		"goes to the background":       {shell(`setsid sh -c 'trap "echo ended; exit" TERM; touch trap; while :; do sleep 0.05; done' & until test -e trap; do sleep 0.05; done`), serverprocess.EventCrashed, []string{"exit status 0; it must wait for what it had started, which was ended", "\nended"}, ""},
		"goes there without output":    {shell(`setsid sh -c 'touch there; exec sleep 1000' > /dev/null 2>&1 & until test -e there; do sleep 0.05; done`), serverprocess.EventCrashed, []string{"exit status 0; it must wait for what it had started, which was ended", "printed nothing"}, ""},
		"closes its output":            {shell("echo last words; exec >&- 2>&-; sleep 0.2; exit 5"), serverprocess.EventCrashed, []string{"exit status 5", "last words"}, ""},
		"prints 100 MB without a line": {shell(`head -c 100000000 /dev/zero | tr '\0' x; exit 6`), serverprocess.EventCrashed, []string{"exit status 6", "xxxx"}, ""},
		"reads":                        {shell("cat; echo the end of stdin; exit 7"), serverprocess.EventCrashed, []string{"exit status 7", "the end of stdin"}, ""},
		"is deleted":                   {&messages.GameServer{Path: write("deleted", "#!/bin/sh\nrm \"$0\"; exit 8\n", 0o755)}, serverprocess.EventCrashed, []string{"exit status 8"}, "no such file"},
		"is replaced":                  {&messages.GameServer{Path: write("replaced", "#!/bin/sh\nmv new \"$0\"; exit 9\n", 0o755)}, serverprocess.EventCrashed, []string{"exit status 9"}, "the new one"},
		"is no program":                {&messages.GameServer{Path: write("text", "some text", 0o755)}, eventInvalidPath, []string{"exec format error"}, ""},
		"cannot enter its folder":      {&messages.GameServer{Path: "/bin/sh", Dir: closed, User: "nobody"}, eventInvalidPath, []string{"permission denied", `user "nobody"`, closed}, ""},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			if err := CheckUser(try.server.User); err != nil {
				t.Skip(err)
			}
			write("new", "#!/bin/sh\necho the new one\nexec sleep 1000\n", 0o755)
			o := newOwner(t, nil)
			if try.server.Dir == "" {
				try.server.Dir = dir
			}
			o.Configure(fleet, try.server, "here", map[string]int{"here": 1})
			e := next[Event](o)
			for _, text := range try.texts {
				if e.Code != try.code || !strings.Contains(e.Text, text) || len(e.Text) > eventTextMax {
					t.Errorf("%s: %.300q, want %s: %s", e.Code, e.Text, try.code, text)
				}
			}
			if try.then != "" {
				o.logged(try.then)
			}
		})
	}
}

// A port that another program has is tried again, and the event says what the server says.
func TestAPortOfAnotherProgram(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := newOwner(t, nil)
	s := self(t, "listen")
	s.PortFrom = other.Addr().(*net.TCPAddr).Port
	s.PortTo = s.PortFrom
	o.Configure(fleet, s, "here", map[string]int{"here": 1})
	if e := next[Event](o); e.Code != serverprocess.EventCrashed || !strings.Contains(e.Text, "address already in use") {
		t.Errorf("%+v", e)
	}
	_ = other.Close()
	o.logged(`"message":"up `)
}

// What the kernel keeps of a process: no core files, and it is the first to go when memory runs out.
func TestAServerIsTame(t *testing.T) {
	for _, user := range []string{"", "nobody"} {
		if CheckUser(user) != nil {
			continue
		}
		o := newOwner(t, nil)
		s := shell("sleep 0.1; echo core $(ulimit -c) adj $(cat /proc/$$/oom_score_adj); exec sleep 1000")
		s.Dir, s.User = "/", user
		o.Configure(fleet, s, "here", map[string]int{"here": 1})
		o.logged(`"message":"core 0 adj 1000"`)
	}
}

// What no process was found to have left behind ends with the host, before the folder goes that shows it to the next one.
func TestTheEndOfAHostEndsWhatIsLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	log := zerolog.Nop()
	k := &keeper{log: &log}
	cmd := exec.Command("/bin/sh", "-c", "setsid sh -c 'echo $$ > left; sleep 1000' & until test -s left; do sleep 0.05; done")
	cmd.Dir = dir
	p, err := k.start(child.Start{Cmd: cmd})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Gone()
	left := pidIn(t, dir, "left")
	if !running(left) {
		t.Error("nothing is left")
	}
	k.stop()
	(&owner{T: t}).await("its end", func() bool { return !running(left) })
	if there(k.folder.Path) {
		t.Error("the folder is left")
	}
	p.Bury()
}

// Where children cannot be marked, the host says so, once.
func TestChildrenWithoutMarks(t *testing.T) {
	if ids, _ := os.ReadFile("/proc/self/gid_map"); !strings.Contains(string(ids), "4294967295") {
		t.Skip("children of other users have no groups for marks here")
	}
	t.Setenv("TMPDIR", t.TempDir())
	var out lines
	log := zerolog.New(&hostLog{&out})
	k := &keeper{log: &log, user: child.User{UID: 1}} // marked by groups, which children of this user do not get
	for range 2 {
		p, err := k.start(child.Start{Cmd: exec.Command("/bin/sh", "-c", "exit")})
		if err != nil {
			t.Fatal(err)
		}
		<-p.Gone()
		p.Bury()
	}
	k.stop()
	if len(out.all) != 1 || !strings.Contains(out.all[0], "cannot be marked") {
		t.Errorf("%q", out.all)
	}
}
