// Command transports measures the transports beside each other, each part in one
// run: what an echoed message costs the process over plain UDP, DTLS and KCP,
// what idle KCP players cost the host, and how long reliable messages take on a
// path that loses 5 %. See the package comment of bench for how numbers are made.
//
// It exits with 1 when a bar is missed, with 2 when it could not measure. The
// lossy path is a network namespace of its own with an nftables rule; without
// root or nft that part is left out, with the reason.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"troupe/bench/report"
)

// options is the command line.
type options struct {
	Troupe  string        `json:"troupe"`
	Rounds  int           `json:"rounds"`
	For     time.Duration `json:"for_ns"`
	Peers   int           `json:"peers"`
	Idle    int           `json:"idle_players"`
	Loss    int           `json:"loss_percent"`
	Rate    int           `json:"messages_per_second"`
	JSON    string        `json:"-"`
	echo    string        // inner: serve this kind of echo
	lossyIn bool          // inner: this process is in the namespace
}

// result is what is stored.
type result struct {
	Machine report.Machine `json:"machine"`
	Command string         `json:"command"`
	Config  options        `json:"config"`
	Echo    []echoResult   `json:"echo"`
	Idle    *idleResult    `json:"idle,omitempty"`
	Lossy   []lossyResult  `json:"lossy,omitempty"`
	Bars    []report.Bar   `json:"bars"`
}

func main() {
	var o options
	flag.StringVar(&o.Troupe, "troupe", "", "path of the troupe binary; without it only the echoes are measured")
	flag.IntVar(&o.Rounds, "rounds", 5, "rounds of the echoes")
	flag.DurationVar(&o.For, "for", 3*time.Second, "how long each echo runs in a round, and a tenth of how long the lossy path does")
	flag.IntVar(&o.Peers, "peers", 16, "peers of an echo, one message under way each")
	flag.IntVar(&o.Idle, "idle", 1000, "idle players")
	flag.IntVar(&o.Loss, "loss", 5, "percent of the packets that the lossy path loses, each way")
	flag.IntVar(&o.Rate, "rate", 20, "messages per second and player on the lossy path")
	flag.StringVar(&o.JSON, "json", "", "write the result to this file")
	flag.StringVar(&o.echo, "serve-echo", "", "")
	flag.BoolVar(&o.lossyIn, "in-namespace", false, "")
	flag.Parse()
	report.Main("transports", func(ctx context.Context) (bool, error) { return run(ctx, &o) })
}

func run(ctx context.Context, o *options) (met bool, err error) {
	switch {
	case o.echo != "":
		return true, serveEcho(ctx, o.echo)
	case o.lossyIn:
		return true, lossyInside(ctx, o)
	}
	r := result{Machine: report.ThisMachine(), Command: report.CommandLine("bench-transports", flag.CommandLine), Config: *o}
	fmt.Println(r.Machine)
	if r.Echo, err = measureEchoes(ctx, o); err != nil {
		return false, err
	}
	r.Bars = append(r.Bars, printEchoes(r.Echo)...)
	if o.Troupe != "" {
		if r.Idle, err = measureIdle(ctx, o); err != nil {
			return false, err
		}
		r.Bars = append(r.Bars, r.Idle.print()...)
		switch r.Lossy, err = measureLossy(ctx, o); {
		case errors.Is(err, errNoNamespace):
			fmt.Println("lossy path left out:", err)
		case err != nil:
			return false, err
		default:
			r.Bars = append(r.Bars, printLossy(o, r.Lossy)...)
		}
	}
	met = true
	fmt.Println()
	for _, b := range r.Bars {
		fmt.Println(b)
		met = met && b.Met
	}
	if o.JSON != "" {
		err = report.WriteJSON(o.JSON, r)
	}
	return met, err
}
