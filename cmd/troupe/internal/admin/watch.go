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

// Options configure Watch. All fields are needed.
type Options struct {
	In, Out *os.File // the terminal
	Host    string
	Order   string
	Every   time.Duration
	// Ask asks the host for rows in an order. It ends with its context.
	Ask func(ctx context.Context, order string) (*Snapshot, error)
}

const (
	// patience is how long an answer may take.
	patience = 10 * time.Second
	// resized is how often the size of the terminal is looked at: this needs no signal, and works on all systems.
	resized = 250 * time.Millisecond
)

// What terminals do: another screen, the cursor and the breaking of long lines switched off; and all of it back.
const (
	enter = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leave = "\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// answer is what the host has said.
type answer struct {
	s   *Snapshot
	err error
}

// Watch draws until a key or ctx ends it, or the terminal is gone. The first answer comes before the terminal is touched, so a
// host that does not answer is a plain error. Later the last state stays, with the reason.
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
	// A terminal that is gone takes neither; nobody sees it then.
	defer func() { _ = term.Restore(int(o.In.Fd()), before) }()
	if _, err := o.Out.WriteString(enter); err != nil {
		return err
	}
	defer func() { _, _ = o.Out.WriteString(leave) }()

	w := &watcher{o: o, s: s, heard: time.Now(), answers: make(chan answer, 1), view: View{Host: o.Host, Order: o.Order}}
	return w.run(ctx, keys(o.In))
}

// keys passes on what is typed, and closes the channel when the terminal is gone. Its goroutine ends with the process: a read
// of a terminal cannot be interrupted.
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

// watcher is owned by the goroutine of Watch.
type watcher struct {
	o       Options
	s       *Snapshot
	heard   time.Time // when s has come
	view    View
	asking  bool // a goroutine asks, and will answer once
	again   bool // ask at once when it has: another order was chosen
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

// ask asks the host, one question at a time.
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
		w.answers <- answer{s, err} // has room for the only one
	}()
}

// key carries out what was typed, and reports whether that ends it: q, Ctrl-C and Ctrl-D.
func (w *watcher) key(ctx context.Context, typed string) (end bool) {
	if strings.HasPrefix(typed, "\x1b") { // an arrow or another key with a sequence of its own
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

// draw writes a frame if it differs from the one before.
func (w *watcher) draw() error {
	columns, rows, err := term.GetSize(int(w.o.Out.Fd()))
	if err != nil {
		return err
	}
	if columns <= 0 || rows <= 0 { // a serial line may not know
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
