package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/rs/zerolog"

	"troupe/transport/host"
)

// gcPercent is the default of GOGC.
const gcPercent = 200

// ballastMax is how much the garbage collector is told of that is never touched, and so
// takes no memory: a small host then collects when 128 MiB of garbage have gathered, and
// not each two seconds (see runHost). Small machines have a part of it.
const (
	ballastMax  = 64 << 20
	ballastPart = 64
)

// ballast is what that is. It has no pointers to follow.
var ballast []byte

// runHost runs a host until SIGTERM or SIGINT, and drains it; a second signal
// skips the waiting. It returns an error if the host did not start or could not
// go on. Started, if not nil, is called once everything is bound, and what it
// returns at the end, unless it returns an error.
//
// The garbage collector runs half as often as Go's default has it, and less often yet
// while there is little to collect: with 500 scripts that tick at 20 Hz the p99 of their
// lateness is 5 ms then, not 12, and players of 25 scripted game sessions wait 1.1 ms at
// the p99, not 1.5 to 2.9 (make bench-script). GOGC and GOMEMLIMIT of the environment go
// before.
func runHost(cfg host.Config, s streams, started func(*host.Host) (ended func(), err error)) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(signals)

	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
		if os.Getenv("GOMEMLIMIT") == "" { // which would count it
			ballast = make([]byte, min(ballastMax, host.MemoryMax()/ballastPart))
		}
	}
	log := newLog(cfg.Log, s.err)
	notDumpable(log)
	failed := make(chan string, 1)
	h, err := host.Start(host.Options{
		Config: cfg, Log: log, Version: readBuild().version,
		OnFailure: func(reason string) {
			select {
			case failed <- reason:
			default: // the first says why
			}
		},
	})
	if err != nil {
		return err
	}
	a := h.Addrs()
	log.Info().Str("api", a.API).Str("ws", a.WS).Str("fast", a.Fast).Str("wss", a.WSS).Str("dtls", a.DTLS).Str("kcp", a.KCP).Str("version", readBuild().version).
		Int("cpus", runtime.GOMAXPROCS(0)).Func(memoryLimit).Msg("listening")
	if started != nil {
		ended, err := started(h)
		if err != nil {
			h.Close()
			return err
		}
		defer ended()
	}
	if cfg.Announce != "" { // last: whoever waits for the file finds a host that has started
		if err := announce(cfg.Announce, h.Addrs()); err != nil {
			h.Close()
			return err
		}
	}
	return untilOver(h, signals, failed, log)
}

// drainer is what untilOver needs of a host.
type drainer interface {
	// Drain returns when the host has ended, or an error if an operator has cancelled it.
	Drain(ctx context.Context) error
	// Drained is closed when a drain that an operator began has ended the host.
	Drained() <-chan struct{}
	Close()
}

// untilOver waits for a signal, and drains, for the end of an operator's drain, or for a
// failure, and closes. A drain that is cancelled has it wait again.
func untilOver(h drainer, signals <-chan os.Signal, failed <-chan string, log zerolog.Logger) error {
	for over := false; !over; {
		select {
		case sig := <-signals:
			log.Info().Stringer("signal", sig).Msg("stopping")
			over = drain(h, signals)
		case <-h.Drained():
			over = true
		case reason := <-failed:
			h.Close()
			return fmt.Errorf("the host cannot go on: %s", reason)
		}
	}
	select {
	case reason := <-failed:
		return fmt.Errorf("the host failed while it drained: %s", reason)
	default:
		return nil
	}
}

// drain waits for the host to drain, but no longer after another signal. It reports
// false if an operator has cancelled the drain, and no signal came since.
func drain(h drainer, signals <-chan os.Signal) bool {
	for {
		ctx, skip := context.WithCancel(context.Background())
		var listening sync.WaitGroup
		var again atomic.Bool
		listening.Go(func() {
			select {
			case <-signals:
				again.Store(true)
				skip()
			case <-ctx.Done():
			}
		})
		err := h.Drain(ctx)
		skip()
		listening.Wait()
		if err == nil {
			return true
		}
		if !again.Load() {
			return false
		}
	}
}

// memoryLimit logs GOMEMLIMIT, which the runtime keeps to, if there is one.
func memoryLimit(e *zerolog.Event) {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		e.Int64("memory_limit_bytes", limit)
	}
}

func newLog(c host.Log, out io.Writer) zerolog.Logger {
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil {
		level = zerolog.InfoLevel // config has checked it
	}
	if c.Format == "pretty" {
		out = prettyLog(out)
	}
	return zerolog.New(out).Level(level).With().Timestamp().Logger()
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
