package admin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// Options configures Watch. All fields are required.
type Options struct {
	In, Out *os.File // the terminal
	Host    string
	Order   string
	Every   time.Duration
	// Ask requests a snapshot with rows in the given sort order. It must return when ctx ends.
	Ask func(ctx context.Context, order string) (*Snapshot, error)
}

const (
	// patience bounds the wait for an answer.
	patience = 10 * time.Second
	// resized is how often the size of the terminal is polled. Polling needs no signal and works on all systems.
	resized = 250 * time.Millisecond
)

// Escape sequences. enter switches to the alternate screen, hides the cursor and disables line wrapping. leave reverts
// all of that.
const (
	enter = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leave = "\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// answer is the result of one request to the host.
type answer struct {
	s   *Snapshot
	err error
}

// Watch draws until a key or ctx ends it, or the terminal is closed. It waits for the first answer before it changes
// the terminal, so an unreachable host is an ordinary error. If a later request fails, the last state stays on the
// screen, together with the reason.
func Watch(ctx context.Context, o Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s, err := o.Ask(ctx, o.Order)
	if err != nil {
		return err
	}
	before, err := term.MakeRaw(int(o.In.Fd()))
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	// Both calls fail if the terminal has been closed. That does not matter.
	defer func() { _ = term.Restore(int(o.In.Fd()), before) }()
	if _, err := o.Out.WriteString(enter); err != nil {
		return err
	}
	defer func() { _, _ = o.Out.WriteString(leave) }()

	w := &watcher{o: o, s: s, heard: time.Now(), answers: make(chan answer, 1), view: View{Host: o.Host, Order: o.Order}}
	return w.run(ctx, keys(o.In))
}

// keys sends the typed bytes and closes the channel when the terminal is closed. Its goroutine runs until the process
// ends, because a read from a terminal cannot be interrupted.
func keys(in *os.File) <-chan []byte {
	typed := make(chan []byte)
	go func() {
		defer close(typed)
		for {
			b := make([]byte, 32)
			n, err := in.Read(b)
			if err != nil {
				return
			}
			typed <- b[:n]
		}
	}()
	return typed
}

// watcher is the state of Watch, owned by its goroutine.
type watcher struct {
	o       Options
	s       *Snapshot
	heard   time.Time // when s was received
	view    View
	asking  bool // a request is pending
	again   bool // send another request when the pending one is answered, because the order has changed
	answers chan answer
	drawn   string
}

func (w *watcher) run(ctx context.Context, typed <-chan []byte) error {
	next, size := time.NewTicker(w.o.Every), time.NewTicker(resized)
	defer next.Stop()
	defer size.Stop()
	for {
		if err := w.draw(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case b, ok := <-typed:
			if !ok || w.key(ctx, string(b)) {
				return nil
			}
		case <-next.C:
			w.ask(ctx)
		case a := <-w.answers:
			w.heardOf(ctx, a)
		case <-size.C:
		}
	}
}

func (w *watcher) heardOf(ctx context.Context, a answer) {
	w.asking = false
	switch {
	case a.err == nil:
		w.s, w.heard, w.view.Trouble = a.s, time.Now(), ""
	case errors.Is(a.err, context.DeadlineExceeded):
		w.view.Trouble = fmt.Sprintf("no answer since %s", w.heard.UTC().Format("15:04:05Z"))
	default:
		w.view.Trouble = fmt.Sprintf("no answer since %s: %v", w.heard.UTC().Format("15:04:05Z"), a.err)
	}
	if w.again {
		w.again = false
		w.ask(ctx)
	}
}

// ask sends a request to the host, unless one is pending.
func (w *watcher) ask(ctx context.Context) {
	if w.asking {
		return
	}
	w.asking = true
	order := w.view.Order
	go func() {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		s, err := w.o.Ask(ctx, order)
		w.answers <- answer{s, err} // the buffer has space, because only one request is pending
	}()
}

// key handles typed bytes. It returns true if they end the program: q, Ctrl-C or Ctrl-D.
func (w *watcher) key(ctx context.Context, typed string) (end bool) {
	if strings.HasPrefix(typed, "\x1b") { // an arrow or another key that sends an escape sequence
		return false
	}
	for _, k := range []byte(typed) {
		switch k {
		case 'q', 'Q', 3, 4:
			return true
		case '\t':
			w.view.Lists = (w.view.Lists + 1) % (Players + 1)
		case ' ', '\r', '\n':
			w.ask(ctx)
		}
		for _, o := range Orders {
			if k == o.Key && w.view.Order != o.Name {
				w.view.Order = o.Name
				w.again = w.asking
				w.ask(ctx)
			}
		}
	}
	return false
}

// draw writes a frame if it differs from the previous one.
func (w *watcher) draw() error {
	columns, rows, err := term.GetSize(int(w.o.Out.Fd()))
	if err != nil {
		return err
	}
	if columns <= 0 || rows <= 0 { // a serial line may not know its size
		columns, rows = 80, 24
	}
	w.view.Columns, w.view.Rows = columns, rows
	frame := "\x1b[H" + strings.Join(Frame(w.s, w.view), "\x1b[K\r\n") + "\x1b[K\x1b[J"
	key := fmt.Sprint(columns, rows, frame)
	if key == w.drawn {
		return nil
	}
	w.drawn = key
	_, err = w.o.Out.WriteString(frame)
	return err
}
