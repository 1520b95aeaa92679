package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/rs/zerolog"

	"troupe/transport/host"
)

// memoryPart is the share of a control group's memory that the Go runtime may use. The rest is for kernel buffers and
// other memory outside the Go heap.
const memoryPart = 0.8

// hostOptions are the parameters of runHost other than the configuration. All are optional.
type hostOptions struct {
	dev    bool                        // host.Options.Dev
	page   string                      // host.Options.Page
	origin func(key string) string     // host.Options.Origin
	reload func() (host.Config, error) // re-reads the configuration after SIGHUP
	quiet  func(line []byte) bool      // reports whether to omit a log line (JSON)
	// started is called once all listeners are bound. The function that it returns is called when the host ends.
	started func(*host.Host) (ended func(), err error)
}

// runHost runs a host until SIGTERM or SIGINT and then drains it. A second signal ends the host without waiting.
// runHost returns an error if the host did not start or failed.
//
// The garbage collector runs less often than by Go's default while the heap is small (garbage.go). Measured effect: with
// 500 scripts that tick at 20 Hz, the p99 delay of a tick was 5 ms instead of 12 ms, and the p99 latency of players in
// 25 scripted game sessions 1.1 ms instead of 1.5 to 2.9 ms. If a control group limits the memory, the heap is kept
// below memoryPart of the limit. The environment variables GOGC and GOMEMLIMIT override these settings.
func runHost(cfg host.Config, s streams, o hostOptions) error {
	signals := make(chan os.Signal, 2)
	defer s.notify(signals, syscall.SIGTERM, os.Interrupt)()

	if limit := host.GroupMemoryMax(); limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(float64(limit) * memoryPart))
	}
	if os.Getenv("GOGC") == "" {
		defer paceGarbage()()
	}
	hangups := make(chan os.Signal, 1)
	if o.reload != nil {
		defer s.notify(hangups, syscall.SIGHUP)()
	}
	// The log level is set globally, so that a reload can change it for all loggers.
	log := newLog(cfg.Log, s.err, o.quiet)
	zerolog.SetGlobalLevel(log.GetLevel())
	log = log.Level(zerolog.TraceLevel)
	notDumpable(log)
	failed := make(chan string, 1)
	h, err := host.Start(host.Options{
		Config: cfg, Log: log, Network: s.network, Version: readBuild().version(), Dev: o.dev, Page: o.page, Origin: o.origin, SetLogLevel: zerolog.SetGlobalLevel,
		OnFailure: func(reason string) {
			select {
			case failed <- reason:
			default: // only the first failure is reported
			}
		},
	})
	if err != nil {
		return err
	}
	// Go gives new goroutines as much stack as goroutines used on average at the last collection. During the start
	// there are few goroutines, and one of them has a large stack. Without a collection now, each of the first players
	// would use up to 2 KiB more until the next collection.
	debug.FreeOSMemory()
	a := h.Addrs()
	log.Info().Str("api", a.API).Str("ws", a.WS).Str("fast", a.Fast).Str("wss", a.WSS).Str("dtls", a.DTLS).Str("kcp", a.KCP).Str("version", readBuild().version()).
		Int("cpus", runtime.GOMAXPROCS(0)).Func(memoryLimit).Msg("listening")
	if o.started != nil {
		ended, err := o.started(h)
		if err != nil {
			h.Close()
			return err
		}
		defer ended()
	}
	if cfg.Announce != "" { // last, because the file means that the host has started
		if err := announce(cfg.Announce, a); err != nil {
			h.Close()
			return err
		}
	}
	over := make(chan struct{})
	var reloading sync.WaitGroup
	reloading.Go(func() { reloadOn(hangups, over, h, o.reload, log) })
	err = untilOver(h, signals, failed, log)
	close(over)
	reloading.Wait()
	return err
}

// reloadOn reads the configuration again after each signal, until over is closed. A configuration with a mistake
// changes nothing.
func reloadOn(signals <-chan os.Signal, over <-chan struct{}, h *host.Host, read func() (host.Config, error), log zerolog.Logger) {
	for {
		select {
		case <-over:
			return
		case <-signals:
		}
		cfg, err := read()
		var applied, restart []string
		if err == nil {
			applied, restart, err = h.Reload(cfg)
		}
		if err != nil {
			log.Error().Err(err).Msg("the configuration is not reloaded, the old one stays in force")
			continue
		}
		log.Info().Strs("changed", applied).Msg("the configuration is reloaded, and secrets and certificates are read again")
		if len(restart) > 0 {
			log.Warn().Strs("keys", restart).Msg("these settings have changed and need a restart")
		}
	}
}

// drainer is the part of a host that untilOver uses.
type drainer interface {
	// Drain returns nil when the host has ended, or an error if an operator has cancelled the drain.
	Drain(ctx context.Context) error
	// Drained is closed when a drain that an operator started has ended the host.
	Drained() <-chan struct{}
	Close()
}

// untilOver waits until the host ends: by a signal, which drains it, by an operator's drain, or by a failure. If an
// operator cancels the drain, untilOver continues to wait.
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

// drain drains the host. Another signal ends the drain immediately. drain returns false if an operator has cancelled
// the drain and no signal has arrived since.
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

// memoryLimit logs the memory limit of the Go runtime, if there is one.
func memoryLimit(e *zerolog.Event) {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		e.Int64("memory_limit_bytes", limit)
	}
}

// newLog creates the host's log. quiet, if not nil, reports whether to omit a line.
func newLog(c host.Log, out io.Writer, quiet func(line []byte) bool) zerolog.Logger {
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil {
		level = zerolog.InfoLevel // config has already validated the level
	}
	if c.Format == "pretty" {
		out = prettyLog(out)
	}
	if quiet != nil {
		out = filtered{out, quiet}
	}
	return zerolog.New(out).Level(level).With().Timestamp().Logger()
}

// filtered writes the log lines that quiet does not omit.
type filtered struct {
	io.Writer
	quiet func(line []byte) bool
}

func (f filtered) Write(line []byte) (int, error) {
	if f.quiet(line) {
		return len(line), nil
	}
	return f.Writer.Write(line)
}
