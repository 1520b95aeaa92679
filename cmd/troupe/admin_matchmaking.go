package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"troupe/cmd/troupe/internal/admin"
)

type matchmakingCommand struct {
	List matchmakersCommand `cmd:"" default:"withargs" help:"List matchmaking configurations, with how many tickets wait."`
	Why  whyCommand         `cmd:"" help:"Say why a matchmaking ticket waits: which rules keep others from it, and what the next expansion changes."`
}

type matchmakersCommand struct{ consoleFlags }

func (c *matchmakersCommand) Run(s streams) error {
	var all struct {
		Configurations []struct {
			Name, RuleSet, LongestTicket                                        string
			Waiting, Accepting, Placing, Completed, TimedOut, Cancelled, Failed int
			LongestSeconds, LastPassSeconds                                     float64
		}
	}
	if printed, err := c.answer(s, http.MethodGet, "matchmaking", nil, &all); printed || err != nil {
		return err
	}
	var rows [][]string
	for _, m := range all.Configurations {
		longest := ""
		if m.LongestTicket != "" {
			longest = fmt.Sprintf("%s (%v)", m.LongestTicket, inSeconds(m.LongestSeconds))
		}
		rows = append(rows, []string{
			m.Name, m.RuleSet, number(m.Waiting), number(m.Accepting), number(m.Placing), number(m.Completed), number(m.TimedOut),
			number(m.Cancelled), number(m.Failed), longest,
		})
	}
	return admin.PrintTable(s.out, []string{"CONFIGURATION", "RULE SET", "WAITING", "ACCEPTING", "PLACING", "COMPLETED", "TIMED OUT", "CANCELLED", "FAILED", "LONGEST WAIT"}, rows)
}

func inSeconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Second)
}

type whyCommand struct {
	consoleFlags
	Ticket string `arg:"" name:"ticket" help:"Id of the ticket."`
}

// ticketWait is the answer to /admin/v1/matchmaking/why.
type ticketWait struct {
	Ticket, Configuration, Status, Says       string
	Started, TimesOut                         *time.Time
	Searched                                  bool
	Others, Sampled, Fitting, Players, Needed int
	Blocked                                   []struct {
		Rule, Example string
		Tickets       int
	}
	NextChanges                   []struct{ Target, From, To string }
	NextSeconds, EstimatedSeconds *float64
}

func (c *whyCommand) Run(s streams) error {
	var t ticketWait
	if printed, err := c.answer(s, http.MethodGet, "matchmaking/why", given("ticket", c.Ticket), &t); printed || err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "ticket %s of configuration %s is %s", t.Ticket, t.Configuration, t.Status)
	if t.TimesOut != nil && t.Started != nil {
		fmt.Fprintf(&b, " since %s, until %s", t.Started.UTC().Format(time.RFC3339), t.TimesOut.UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(&b, "\n%s\n", t.Says)
	if t.Searched {
		verb := "wait"
		if t.Others == 1 {
			verb = "waits"
		}
		fmt.Fprintf(&b, "%s %s", count(int64(t.Others), "other ticket"), verb)
		if t.Sampled < t.Others {
			fmt.Fprintf(&b, ", of which %d were looked at", t.Sampled)
		}
		fmt.Fprintf(&b, "; fitting it, one by one: %d. That makes %s, and a match needs %d.\n", t.Fitting, count(int64(t.Players), "player"), t.Needed)
	}
	for _, n := range t.NextChanges {
		if t.NextSeconds != nil {
			fmt.Fprintf(&b, "in %v %s changes from %s to %s\n", inSeconds(*t.NextSeconds), n.Target, n.From, n.To)
		}
	}
	switch {
	case t.EstimatedSeconds != nil:
		fmt.Fprintf(&b, "by recent matches it waits %v more\n", inSeconds(*t.EstimatedSeconds))
	case t.Searched:
		fmt.Fprintln(&b, "too few tickets that waited so long were matched in the last ten minutes for an estimate")
	}
	if _, err := io.WriteString(s.out, b.String()); err != nil || len(t.Blocked) == 0 {
		return err
	}
	var rows [][]string
	for _, r := range t.Blocked {
		rows = append(rows, []string{r.Rule, number(r.Tickets), r.Example})
	}
	return admin.PrintTable(s.out, []string{"RULE", "KEEPS AWAY", "FOR EXAMPLE"}, rows)
}
