package play

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// line returns the summary of one second. last is the previous report.
func (r report) line(last report, at time.Duration) string {
	var sent, received, missing uint64
	all := newHistogram()
	for ch, s := range r.channels {
		sent += s.sent - last.channels[ch].sent
		received += s.received - last.channels[ch].received
		missing += s.missing()
		all.Merge(s.latency)
	}
	text := fmt.Sprintf("%4.0fs  bots %d  sent %d/s  received %d/s  in transit %d  p50 %s  p99 %s  reconnects %d",
		at.Seconds(), r.bots-r.failed, sent, received, missing, quantile(all, 50), quantile(all, 99), r.backs)
	if at >= unansweredAfter && r.unanswered() {
		text += "  (" + ErrNoneCameBack.Error() + ")"
	}
	return text
}

// unansweredAfter is how long a run must last before its lines report that no message came back.
const unansweredAfter = 2 * time.Second

// unanswered reports whether reliable messages were sent and none came back.
func (r report) unanswered() bool {
	s := r.channels[reliable]
	return s.sent > 0 && s.received == 0
}

// ErrNoneCameBack is the result of bots that received nothing. Usually, the game's script rejects their messages. Such
// a run proves nothing.
var ErrNoneCameBack = fmt.Errorf("no message of op code %d came back: does the script pass it on?", opBot)

// table returns the result of a run.
func (r report) table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "channel\tsent\texpected\treceived\tlost\tlost, reported\tduplicates\tp50\tp99\tmax\t")
	for ch, s := range r.channels {
		if s.sent == 0 && channel(ch) != reliable {
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t\n", channelNames[ch], s.sent, s.expected, s.received,
			s.lost, s.excused, s.duplicates, quantile(s.latency, 50), quantile(s.latency, 99), quantile(s.latency, 100))
	}
	w.Flush()
	fmt.Fprintf(&b, "bots %d, failed %d, connections lost %d, reconnects %d (as a new peer %d), not sent while away %d",
		r.bots, r.failed, r.losses, r.backs, r.newIDs, r.unsent)
	return b.String()
}

// verdict returns an error if a bot failed, or a reliable message was lost or duplicated.
func (r report) verdict() error {
	var all []error
	if r.failed > 0 {
		all = append(all, fmt.Errorf("%d of %d bots failed", r.failed, r.bots))
	}
	if lost := r.channels[reliable].lost; lost > 0 && r.unanswered() {
		all = append(all, ErrNoneCameBack)
	} else if lost > 0 {
		all = append(all, fmt.Errorf("%d reliable messages were lost", lost))
	}
	if twice := r.channels[reliable].duplicates; twice > 0 {
		all = append(all, fmt.Errorf("%d reliable messages arrived twice", twice))
	}
	return errors.Join(all...)
}

// quantile formats a percentile, or "-" if there are no values.
func quantile(h *hdrhistogram.Histogram, p float64) string {
	if h.TotalCount() == 0 {
		return "-"
	}
	d := time.Duration(h.ValueAtQuantile(p)) * time.Microsecond
	return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
}
