// Command idle measures how much memory a logged-in player costs that does nothing, in the troupe host and in the bare
// relay. See the package comment of bench for how the number is made.
//
// It exits with 1 when the bar is missed, with 2 when it could not measure. Without --troupe it measures the bare relay
// alone.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"syscall"
	"text/tabwriter"
	"time"

	"troupe/bench/report"
	"troupe/bench/server"
)

// filesSpare is how many files a process may need beside its connections.
const filesSpare = 200

// config is stored with the result.
type config struct {
	Connections int           `json:"connections"`
	RoomSize    int           `json:"room_size"`
	Settle      time.Duration `json:"settle_ns"`
}

// options is the command line.
type options struct {
	config
	bare, troupe, fleet, json string
	sets                      server.SetFlag
	barKiB                    float64
}

// result is what is stored.
type result struct {
	Machine report.Machine `json:"machine"`
	Command string         `json:"command"`
	Config  config         `json:"config"`
	Servers []sample       `json:"servers"`
	Bars    []report.Bar   `json:"bars"`
}

func main() {
	o := parseFlags()
	report.Main("idle", func(ctx context.Context) (bool, error) { return run(ctx, o) })
}

func parseFlags() options {
	var o options
	flag.IntVar(&o.Connections, "connections", 9600, "logged-in players")
	flag.IntVar(&o.RoomSize, "room-size", 200, "players in each room; the service API allows 200")
	flag.DurationVar(&o.Settle, "settle", 15*time.Second, "idle time before memory is read; some ping rounds long")
	flag.StringVar(&o.bare, "bare", "", "bare relay binary (required)")
	flag.StringVar(&o.troupe, "troupe", "", "troupe binary; empty = bare relay only")
	flag.StringVar(&o.fleet, "fleet", "fleet-dev", "fleet of the game sessions")
	flag.Var(&o.sets, "set", "KEY=VALUE for troupe; may be repeated")
	flag.Float64Var(&o.barKiB, "bar-kib", 12, "resident KiB per connection, at most")
	flag.StringVar(&o.json, "json", "", "file for the result")
	flag.Parse()
	return o
}

func (o options) validate() error {
	if o.bare == "" {
		return errors.New("--bare is required")
	}
	if o.Connections < 1 || o.RoomSize < 1 || o.Settle < 0 {
		return errors.New("connections and room size must be positive")
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("read file limit: %w", err)
	}
	if need := uint64(o.Connections + filesSpare); files.Max < need {
		return fmt.Errorf("%d connections need a file limit of %d, it is %d", o.Connections, need, files.Max)
	}
	return nil
}

// run measures, prints, stores, and says whether the bar is met.
func run(ctx context.Context, o options) (met bool, err error) {
	if err := o.validate(); err != nil {
		return false, err
	}
	specs := []server.Spec{{Kind: server.Bare, Bin: o.bare}}
	if o.troupe != "" {
		specs = append(specs, server.Spec{Kind: server.Troupe, Bin: o.troupe, FleetID: o.fleet, Sets: o.sets})
	}
	res := result{Machine: report.ThisMachine(), Command: report.CommandLine("idle", flag.CommandLine), Config: o.config}
	met = true
	for _, spec := range specs {
		s, err := measure(ctx, spec, o.config)
		if err != nil {
			return false, err
		}
		res.Servers = append(res.Servers, s)
		if spec.Kind == server.Troupe {
			met = s.KiBPerConnection <= o.barKiB
			res.Bars = append(res.Bars, report.Bar{
				Name: "resident KiB per idle connection", Limit: o.barKiB, Got: s.KiBPerConnection, Met: met,
			})
		}
	}
	res.print(os.Stdout)
	if o.json != "" {
		if err := report.WriteJSON(o.json, res); err != nil {
			return false, err
		}
	}
	return met, nil
}

func (r *result) print(w io.Writer) {
	fmt.Fprintln(w, r.Machine)
	fmt.Fprintf(w, "%d connections in rooms of %d, read after %v idle\n", r.Config.Connections, r.Config.RoomSize, r.Config.Settle)
	for _, s := range r.Servers {
		fmt.Fprintf(w, "server: %s, %s\n", s.Server, s.Build)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tKiB per connection\tat its peak\tRSS before MiB\tRSS after MiB\tgoroutines per connection\tidle CPU %\tconnect time")
	for _, s := range r.Servers {
		goroutines := "unknown"
		if s.GoroutinesPerConnection >= 0 {
			goroutines = fmt.Sprintf("%.2f", s.GoroutinesPerConnection)
		}
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.1f\t%.1f\t%s\t%.1f\t%v\n", s.Server, s.KiBPerConnection, s.PeakKiBPerConnection,
			mib(s.BeforeBytes), mib(s.AfterBytes), goroutines, 100*s.IdleCPU, s.Connect.Round(time.Millisecond))
	}
	_ = t.Flush()
	for _, b := range r.Bars {
		fmt.Fprintln(w, b)
	}
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
