package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/fault"
)

// A child process commits under load and prints which commits were answered. The parent kills it. The store must then
// contain all answered commits, and each commit must be complete.

const (
	childVariable = "TROUPE_TEST_CHILD" // the task of the child process; if it is not set, this is not a child process
	storeVariable = "TROUPE_TEST_STORE"
	roundVariable = "TROUPE_TEST_ROUND"

	callers   = 8
	inFlight  = 4    // number of concurrent commits of one caller
	eachMost  = 4000 // number of commits of one caller
	perCommit = 3
)

func commitUnderLoad() {
	s, err := Open(Options{Path: os.Getenv(storeVariable)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			slots := make(chan struct{}, inFlight)
			for i := range eachMost {
				slots <- struct{}{}
				id := fmt.Sprintf("%s-%d-%d", os.Getenv(roundVariable), c, i)
				value := make([]byte, 2000)
				copy(value, id)
				s.Commit([]Change{{Fleet, id, value}, {Alias, id, value}, {Queue, id, value}}, func(err error) {
					if err == nil {
						fmt.Println("+" + id)
					} else {
						fmt.Println("-" + id)
					}
					<-slots
				})
			}
		})
	}
	wg.Wait()
	s.Flush()
	fmt.Println("end")
	io.Copy(io.Discard, os.Stdin) // until the parent kills this process or closes the pipe
}

// life is the output of one child process.
type life struct {
	acked, refused map[string]bool
	ended, killed  bool
}

// live runs a child process until it dies. killed, if it is not nil, is called after the first answer.
func live(t *testing.T, what, path, round, faults string, killed func(p *os.Process)) life {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+what, storeVariable+"="+path, roundVariable+"="+round, "TROUPE_FAULTS="+faults)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out := assert.Value(cmd.StdoutPipe())(t)
	in := assert.Value(cmd.StdinPipe())(t)
	assert.NoError(t, cmd.Start())
	stuck := time.AfterFunc(60*time.Second, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	l := life{acked: make(map[string]bool), refused: make(map[string]bool)}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		id := lines.Text()
		switch {
		case id == "end":
			l.ended = true
			in.Close()
		case strings.HasPrefix(id, "+"):
			l.acked[id[1:]] = true
		case strings.HasPrefix(id, "-"):
			l.refused[id[1:]] = true
		}
		if killed != nil {
			go killed(cmd.Process)
			killed = nil
		}
	}
	l.killed = strings.Contains(fmt.Sprint(cmd.Wait()), "killed")
	if complaint.Len() > 0 {
		t.Log(complaint.String())
	}
	return l
}

// inspect returns the commits in the store. It fails if one is incomplete.
func inspect(t *testing.T, path string) map[string]bool {
	t.Helper()
	s := open(t, path)
	defer closeStore(t, s)
	var kinds [perCommit]map[string]string
	for i, kind := range []Kind{Fleet, Alias, Queue} {
		kinds[i] = all(t, s, kind)
	}
	there := make(map[string]bool)
	for id, value := range kinds[0] {
		if len(value) != 2000 || !strings.HasPrefix(value, id+"\x00") {
			t.Errorf("%s: not the written value", id)
		}
		there[id] = true
	}
	if !maps.Equal(kinds[0], kinds[1]) || !maps.Equal(kinds[0], kinds[2]) {
		t.Errorf("some commits are there in part: %d, %d, %d records", len(kinds[0]), len(kinds[1]), len(kinds[2]))
	}
	return there
}

// kills is a sequence of child processes on one store.
type kills struct {
	t             *testing.T
	path          string
	rounds, acked int
	known         map[string]bool // all commits that were ever acknowledged
	never         map[string]bool // all commits that were ever refused
}

func (k *kills) round(faults string, killed func(*os.Process)) (l life) {
	t := k.t
	t.Helper()
	k.rounds++
	l = live(t, "commit", k.path, fmt.Sprint(k.rounds), faults, killed)
	there := inspect(t, k.path)
	maps.Copy(k.known, l.acked)
	maps.Copy(k.never, l.refused)
	lost, refused, unordered := 0, 0, 0
	for id := range k.known {
		if !there[id] {
			lost++
		}
	}
	for id := range k.never {
		if there[id] {
			refused++
		}
	}
	for c := range callers { // if a commit is durable, all earlier ones of its caller must be durable too
		missing := false
		for i := range eachMost {
			id := fmt.Sprintf("%d-%d-%d", k.rounds, c, i)
			if there[id] && missing {
				unordered++
			}
			missing = missing || (!there[id] && !l.refused[id])
		}
	}
	t.Logf("%-45s acked %5d, refused %4d; there %6d of all rounds, lost %d", faults, len(l.acked), len(l.refused), len(there), lost)
	if lost+refused+unordered > 0 {
		t.Errorf("%q: %d lost, %d there that were refused, %d there without an earlier one", faults, lost, refused, unordered)
	}
	return l
}

func newKills(t *testing.T) *kills {
	return &kills{t: t, path: filepath.Join(t.TempDir(), "store.db"), known: make(map[string]bool), never: make(map[string]bool)}
}

// RL-18.
func TestNothingAnsweredIsLostAtRandomKills(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	k := newKills(t)
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		l := k.round("", func(p *os.Process) {
			// The test varies the time of the kill. The sleep does not wait for anything.
			time.Sleep(time.Duration(r.Int64N(int64(150 * time.Millisecond))))
			p.Kill()
		})
		if len(l.acked) == 0 {
			t.Error("nothing was acknowledged")
		}
	}
}

// RL-18, RL-113.
func TestNothingAnsweredIsLostAtAnyFailpoint(t *testing.T) {
	if !fault.Enabled {
		t.Skip("built without -tags faults")
	}
	k := newKills(t)
	for _, name := range fault.Names() {
		if !strings.HasPrefix(name, "store.") {
			continue
		}
		times := []int{1, 2, 37}
		if strings.HasPrefix(name, "store.checkpoint") {
			times = []int{1, 2}
		}
		for _, n := range times {
			for _, action := range []string{"kill", "panic"} {
				l := k.round(fmt.Sprintf("%s=%s:%d", name, action, n), nil)
				if l.ended || l.killed != (action == "kill") {
					t.Errorf("%s was not hit %d times, or ended the process otherwise", name, n)
				}
			}
		}
	}
	for _, name := range []string{fault.StoreWrite, fault.StoreCommit, fault.StoreCheckpoint} {
		l := k.round(fmt.Sprintf("%s=error:2-9,store.write=kill:60", name), nil)
		if name != fault.StoreCheckpoint && len(l.refused) == 0 || len(l.acked) == 0 {
			t.Errorf("%s: %d refused, %d acked", name, len(l.refused), len(l.acked))
		}
	}
}

// An error refuses the commits that are waiting at that moment. Later commits are tried.
func TestAnErrorRefusesTheWaitingCommits(t *testing.T) {
	if !fault.Enabled {
		t.Skip("built without -tags faults")
	}
	s := open(t, filepath.Join(t.TempDir(), "store.db"))
	hold, held := make(chan struct{}), make(chan struct{})
	s.Commit([]Change{Put(Fleet, "first", 1)}, func(error) { close(held); <-hold })
	<-held
	setFaults(t, "store.commit=error:1")
	var failed int
	for i := range 10 {
		s.Commit([]Change{Put(Fleet, fmt.Sprint(i), i)}, func(err error) {
			if errors.Is(err, errFault) {
				failed++
			}
		})
	}
	close(hold)
	s.Flush()
	if failed != 10 || s.count.StoreFailing.Load() != 1 || s.count.StoreRefused.Total() != 10 {
		t.Errorf("%d failed, failing %d, counted %d", failed, s.count.StoreFailing.Load(), s.count.StoreRefused.Total())
	}
	assert.NoError(t, commitNow(s, Put(Fleet, "later", 1)))
	if got := all(t, s, Fleet); len(got) != 2 || s.count.StoreFailing.Load() != 0 {
		t.Errorf("%q, failing %d", got, s.count.StoreFailing.Load())
	}
}
