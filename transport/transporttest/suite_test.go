package transporttest

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestReference(t *testing.T) { Run(t, reference{}) }

// defect is a guarantee that the reference transport breaks.
type defect string

// Defects.
const (
	idsRepeat          defect = "two connections have one id"
	refusalHasNoReason defect = "a refused connection is told another reason"
	refusedStaysOpen   defect = "a refused connection stays open"
	ticketStays        defect = "LoggedIn keeps the ticket"
	ticketLost         defect = "the end keeps the ticket"
	gaugeLies          defect = "the gauge of connections does not come back to 0"
	dropsOutbound      defect = "every 100th message to the client is dropped"
	dropsInbound       defect = "every 100th message to the host is dropped"
	swapsTwo           defect = "two messages change places"
	deliversTwice      defect = "a message comes twice"
	flipsABit          defect = "a bit is flipped"
	mergesInbound      defect = "two messages come as one"
	mixesConnections   defect = "a message goes to another connection"
	sendComesLast      defect = "the source is drained before what was sent"
	sendsUnbounded     defect = "any number of frames may be sent"
	sendLeaks          defect = "frames are not released"
	drainUnlocked      defect = "SetSource does not wait"
	sourceStays        defect = "SetSource(nil) has no effect"
	sourceDiscards     defect = "SetSource(nil) discards what was drained"
	sourceAfterEnd     defect = "a source is drained after the end"
	pingDiscards       defect = "a ping discards what was drained"
	pongHasNoPayload   defect = "a pong comes without its payload"
	losesPongs         defect = "two of three pongs are lost"
	chatters           defect = "an idle connection sends"
	flushWaits         defect = "Flush waits"
	drainsEverything   defect = "the source is drained without bound"
	oneWriterAtATime   defect = "a stalled client stalls all"
	writesForEver      defect = "no write timeout"
	timeoutHasNoReason defect = "a write timeout has no reason"
	deadlineStays      defect = "progress does not count"
	queuesInput        defect = "input waits without bound"
	oneHandlerAtATime  defect = "a slow handler stalls all"
	twoCallsAtOnce     defect = "two calls of a handler at once"
	losesTheLast       defect = "the last message before a leave is lost"
	nothingIsClean     defect = "a leave is a loss"
	allIsClean         defect = "a loss is a leave"
	closedTwice        defect = "OnClosed twice"
	unitAfterClosed    defect = "OnUnit after OnClosed"
	leavesAGoroutine   defect = "a goroutine is left over"
	closeDropsQueue    defect = "Close drops what is queued"
	closeSaysNothing   defect = "Close gives no reason"
	lastReasonCounts   defect = "the last reason counts"
	closeWaits         defect = "Close waits"
	closeNeverCuts     defect = "a client that reads nothing puts the end off"
	noLimit            defect = "messages of any size"
	oneLimit           defect = "the same limit before the login"
	garbageIgnored     defect = "garbage is not counted"
	garbageKept        defect = "garbage is kept"
)

// finders maps each defect to the property that must detect it.
var finders = map[defect]string{
	idsRepeat:          "AcceptComesFirstAndIDsAreUnique",
	refusalHasNoReason: "RefusedByTheAcceptor",
	refusedStaysOpen:   "RefusedByTheAcceptor",
	ticketStays:        "AdmissionTicketsComeBack",
	ticketLost:         "AdmissionTicketsComeBack",
	gaugeLies:          "CleanEnd",
	dropsOutbound:      "ReliableBothWaysAtOnce",
	dropsInbound:       "ReliableBothWaysAtOnce",
	swapsTwo:           "ReliableBothWaysAtOnce",
	deliversTwice:      "ReliableBothWaysAtOnce",
	flipsABit:          "ReliableBothWaysAtOnce",
	mergesInbound:      "ReliableBothWaysAtOnce",
	mixesConnections:   "ManyConnectionsAtOnce",
	sendComesLast:      "SendGoesBeforeTheSource",
	sendsUnbounded:     "SendIsBoundedAndReleasesFrames",
	sendLeaks:          "SendIsBoundedAndReleasesFrames",
	drainUnlocked:      "SetSourceWaitsForTheDrain",
	sourceStays:        "SetSourceWaitsForTheDrain",
	sourceDiscards:     "SourceMovesBetweenConnections",
	sourceAfterEnd:     "ClosedConnectionIgnoresCalls",
	pingDiscards:       "AnyGoroutineMayCall",
	pongHasNoPayload:   "PingComesBack",
	losesPongs:         "PingsKeepAnIdleConnectionAlive",
	chatters:           "IdleIsSilent",
	flushWaits:         "StoppedReader",
	drainsEverything:   "StoppedReader",
	oneWriterAtATime:   "StoppedReader",
	writesForEver:      "StoppedReader",
	timeoutHasNoReason: "HalfOpenPeer",
	deadlineStays:      "SlowReader",
	queuesInput:        "SlowHandlerIsBackPressure",
	oneHandlerAtATime:  "SlowHandlerIsBackPressure",
	twoCallsAtOnce:     "SlowHandlerIsBackPressure",
	losesTheLast:       "CleanEnd",
	nothingIsClean:     "CleanEnd",
	allIsClean:         "AbruptEnd",
	closedTwice:        "CleanEnd",
	unitAfterClosed:    "CleanEnd",
	leavesAGoroutine:   "CleanEnd",
	closeDropsQueue:    "HostClose",
	closeSaysNothing:   "HostClose",
	lastReasonCounts:   "HostClose",
	closeWaits:         "HostCloseOfAStoppedReader",
	closeNeverCuts:     "HostCloseOfAStoppedReader",
	noLimit:            "OversizedMessage",
	oneLimit:           "OversizedMessage",
	garbageIgnored:     "Garbage",
	garbageKept:        "Garbage",
}

// TestTheSuiteFindsEveryDefect breaks the reference transport in one way after the other.
func TestTheSuiteFindsEveryDefect(t *testing.T) {
	proven := map[string]bool{}
	for d, name := range finders {
		proven[name] = true
		p := propertyNamed(t, name)
		finds(t, name, d, func(tb TB) { p.check(newEnv(tb, reference{d}, &conditions[0])) })
	}
	for _, p := range properties {
		if !proven[p.name] {
			t.Errorf("nothing shows that %s can fail", p.name)
		}
	}
}

// finds runs a check that must fail.
func finds(t *testing.T, name string, d defect, check func(tb TB)) {
	t.Run(fmt.Sprintf("%s/%s", name, d), func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			failures := record(check)
			time.Sleep(2 * time.Hour) // until all remaining goroutines have ended
			if len(failures) == 0 {
				t.Fatal("not found")
			}
			t.Log(strings.SplitN(failures[0], "\n", 2)[0])
		})
	})
}

func propertyNamed(t *testing.T, name string) property {
	t.Helper()
	for _, p := range properties {
		if p.name == name {
			return p
		}
	}
	t.Fatalf("no property %s", name)
	return property{}
}

// recorder is a TB that records failures.
type recorder struct {
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

// record runs a check and its cleanups, and returns the failures.
func record(check func(tb TB)) []string {
	r := new(recorder)
	<-goes(func() { check(r) })
	for len(r.cleanups) > 0 {
		last := len(r.cleanups) - 1
		f := r.cleanups[last]
		r.cleanups = r.cleanups[:last]
		<-goes(f)
	}
	return r.failures
}

func (r *recorder) Helper()             {}
func (r *recorder) Logf(string, ...any) {}
func (r *recorder) Cleanup(f func())    { r.cleanups = append(r.cleanups, f) }

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatal(args ...any) {
	r.Errorf("%s", fmt.Sprint(args...))
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
