package play

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"troupe/transport/client"
)

// fencePatience bounds how long Chat waits for its last messages after its input has ended.
const fencePatience = 2 * time.Second

// Chat plays as one person. Each line of in is a message or a command, and each event is a line on out. Chat returns at
// the end of in, on /quit, when ctx ends, or when the player session ends, which is an error. After such an error, a
// goroutine may still read one line of in.
func Chat(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	if o.Player == "" {
		o.Player = fmt.Sprintf("player-%06x", rand.Uint32N(1<<24))
	}
	if err := o.check(); err != nil {
		return err
	}
	game, seats, err := o.seats(ctx, []string{o.Player})
	if err != nil {
		return err
	}
	l, err := open(ctx, seats[0], o.connection(), o.outages())
	if err != nil {
		return err
	}
	c := &chat{o: o, link: l, out: out, fence: make(chan struct{}, 1)}
	c.note("joined %s as peer %d, player %s, player session %s, over %s", game, l.client.PeerID(), o.Player, seats[0].id, l.client.Transport())
	c.note("/help lists the commands")
	err = c.run(ctx, in)
	c.note("%s", l.traffic())
	return err
}

type chat struct {
	o     Options
	link  *link
	fence chan struct{} // holds a token once the requested list of all players has arrived

	mu  sync.Mutex
	out io.Writer
}

func (c *chat) run(ctx context.Context, in io.Reader) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	over := make(chan error, 1)
	go func() { over <- c.link.run(ctx, c) }()
	if c.o.Group > 0 {
		c.do(ctx, command{verb: verbJoin, group: c.o.Group})
	}
	lines := readLines(ctx, in)
	for {
		select {
		case err := <-over:
			return err
		case line, ok := <-lines:
			if !ok {
				c.awaitFence(ctx)
				leave()
				return <-over
			}
			cmd, err := parse(line)
			if err != nil {
				c.note("%v", err)
			}
			if cmd.verb == verbQuit {
				leave()
				return <-over
			}
			c.do(ctx, cmd)
		}
	}
}

// readLines reads lines in a goroutine, because a read from a terminal cannot be interrupted.
func readLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		s := bufio.NewScanner(in)
		for s.Scan() {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// awaitFence waits until the host has handled all messages sent so far. It requests the members of a group; the answer
// arrives after those messages.
func (c *chat) awaitFence(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, fencePatience)
	defer cancel()
	select {
	case <-c.fence:
	default:
	}
	if c.link.client.RequestMembership(ctx, client.AllPlayers) != nil {
		return
	}
	select {
	case <-c.fence:
	case <-ctx.Done():
	}
}

func (c *chat) do(ctx context.Context, cmd command) {
	var err error
	cl := c.link.client
	switch cmd.verb {
	case verbHelp:
		c.print("%s", chatHelp)
	case verbSay:
		switch {
		case cmd.message.Intent != client.Fast || cl.FastUp():
		case cl.Attached():
			c.note("the fast channel is not up: sent reliably")
		default:
			c.note("not connected at the moment: dropped")
		}
		err = cl.Send(ctx, cmd.message)
	case verbJoin:
		err = cl.JoinGroup(ctx, cmd.group)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		c.note("not sent: %v", err)
	}
}

func (c *chat) onEvent(e client.Event) {
	switch e.Kind {
	case client.EventMessage:
		c.onMessage(e)
	case client.EventMembership:
		if e.Group == client.AllPlayers {
			select {
			case c.fence <- struct{}{}:
			default:
			}
			return
		}
		c.note("%s: peers %s", groupName(e.Group), strings.Trim(fmt.Sprint(e.Players), "[]"))
	case client.EventFastUp:
		c.note("the fast channel is up")
	case client.EventFastDown:
		c.warn("no fast channel: %v", c.link.client.FastErr())
	case client.EventGap:
		c.warn("%d messages are lost", e.Gap.Lost)
	}
}

func (c *chat) onMessage(e client.Event) {
	if c.o.Quiet && e.OpCode != opChat {
		return
	}
	from := fmt.Sprint("peer ", e.Sender)
	if e.Sender == client.Server {
		from = "server"
	}
	to := ""
	switch {
	case e.TargetGroup != 0:
		to = " to " + groupName(e.TargetGroup)
	case e.TargetPlayer != 0:
		to = " to you"
	}
	if e.OpCode != opChat {
		to += fmt.Sprint(", op ", e.OpCode)
	}
	if e.Fast {
		to += ", fast"
	}
	c.print("%s%s: %s", from, to, visible(e.Payload))
}

func (c *chat) onLost(end client.End) { c.warn("%s; trying to come back", end) }

func (c *chat) onBack(b back) { c.warn("%s", b) }

func groupName(g int32) string {
	if g == client.AllPlayers {
		return "all"
	}
	return fmt.Sprint("group ", g)
}

// note prints a line unless --quiet is set.
func (c *chat) note(format string, args ...any) {
	if !c.o.Quiet {
		c.print("* "+format, args...)
	}
}

func (c *chat) warn(format string, args ...any) { c.print("! "+format, args...) }

func (c *chat) print(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(c.out, format+"\n", args...)
}
