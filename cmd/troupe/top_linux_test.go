package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"troupe/transport/transporttest/hosttest"
)

// screen is troupe top in a separate terminal.
type screen struct {
	*testing.T
	master, slave *os.File
	before        *unix.Termios
	cmd           *exec.Cmd
	ended         chan error

	mu  sync.Mutex
	raw bytes.Buffer // everything that was drawn
}

func pty(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

func watchTop(t *testing.T, url string, args ...string) *screen {
	t.Helper()
	s := &screen{T: t, ended: make(chan error, 1)}
	s.master, s.slave = pty(t)
	s.resize(100, 30)
	var err error
	if s.before, err = unix.IoctlGetTermios(int(s.slave.Fd()), unix.TCGETS); err != nil {
		t.Fatal(err)
	}
	troupe, err := exec.LookPath("troupe") // see TestMain
	if err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.Command(troupe, append([]string{"top", "--endpoint", url, "--every", "1s"}, args...)...)
	s.cmd.Env = append(os.Environ(), "TERM=xterm", "AWS_ACCESS_KEY_ID=")
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = s.slave, s.slave, s.slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.ended <- s.cmd.Wait() }()
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := s.master.Read(b)
			s.mu.Lock()
			s.raw.Write(b[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		s.master.Close()
		s.slave.Close()
	})
	return s
}

func (s *screen) resize(columns, rows uint16) {
	s.Helper()
	if err := unix.IoctlSetWinsize(int(s.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}); err != nil {
		s.Fatal(err)
	}
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

func (s *screen) key(k string) {
	s.Helper()
	if _, err := io.WriteString(s.master, k); err != nil {
		s.Fatal(err)
	}
}

// frame waits until the newest complete frame matches. It returns the frame's lines without colours.
func (s *screen) frame(pattern string) []string {
	s.Helper()
	want := regexp.MustCompile(pattern)
	frame := ""
	until(s, pattern, func() error {
		text := s.text()
		if end := strings.LastIndex(text, "\x1b[J"); end >= 0 {
			frame = text[strings.LastIndex(text[:end], "\x1b[H")+len("\x1b[H") : end]
			for _, mark := range []string{"\x1b[K", "\x1b[7m", "\x1b[0m"} {
				frame = strings.ReplaceAll(frame, mark, "")
			}
			if want.MatchString(frame) {
				return nil
			}
		}
		return fmt.Errorf("%q", text)
	})
	return strings.Split(frame, "\r\n")
}

// over waits for the end of the process and checks that the terminal is restored.
func (s *screen) over(code int) {
	s.Helper()
	select {
	case err := <-s.ended:
		exit := new(exec.ExitError)
		if got := 0; err != nil && (!errors.As(err, &exit) || exit.ExitCode() != code) || err == nil && code != got {
			s.Errorf("%v, want exit code %d", err, code)
		}
	case <-time.After(patience):
		s.Fatal("troupe top goes on")
	}
	after, err := unix.IoctlGetTermios(int(s.slave.Fd()), unix.TCGETS)
	if err != nil || *after != *s.before {
		s.Errorf("the terminal was %+v, and is %+v (%v)", s.before, after, err)
	}
	until(s, "the screen as it was", func() error {
		if text := s.text(); !strings.HasSuffix(text, "\x1b[?7h\x1b[?25h\x1b[?1049l") {
			return fmt.Errorf("%q", text)
		}
		return nil
	})
}

// Bots play while troupe top watches them.
func TestTopInATerminal(t *testing.T) {
	t.Parallel()
	h, g := adminHost(t, hosttest.System)
	bots := starting(t, "client", "--endpoint", h.Addrs().APIURL, "--game-session", string(g.ID), "--bots", "3", "--player", "bob", "--quiet")
	s := watchTop(t, h.Addrs().APIURL)
	s.frame(`bob-\S*1 +attached +ws +[1-9][0-9.]* +[1-9]`) // rates of sent and received messages per second
	if !strings.HasPrefix(s.text(), "\x1b[?1049h") {
		t.Errorf("no screen of its own: %q", s.text())
	}
	s.frame(`\[rate\]`)
	s.key("t")
	s.frame(`\[round trip\]`)
	s.key("w")
	s.frame(`\[queue\]`)
	s.key("\t")
	s.frame(`^(?:[^V]|V[^I])*GAME SESSION +PLAYERS(?:[^V]|V[^I])*$`) // no players: their column VIA is missing
	s.key("\t")
	s.frame(`\r\n\r\nPLAYER `)
	s.key("\t")
	s.key("\x1b[A") // an arrow key sends a sequence that ends with a letter, which must not count as a key
	s.resize(40, 12)
	lines := s.frame(`^.{1,40}\r\n`)
	if len(lines) > 12 {
		t.Errorf("%d lines in 12: %q", len(lines), lines)
	}
	for _, line := range lines {
		if utf8.RuneCountInString(line) > 40 {
			t.Errorf("%q is wider than 40 columns", line)
		}
	}
	s.key("q")
	s.over(0)
	bots.signal(syscall.SIGTERM) // before the host ends; otherwise the bots would try to reconnect
	bots.wait(t)

	for name, end := range map[string]func(*screen){
		"Ctrl-C":  func(s *screen) { s.key("\x03") },
		"SIGTERM": func(s *screen) { _ = s.cmd.Process.Signal(syscall.SIGTERM) },
		"SIGHUP":  func(s *screen) { _ = s.cmd.Process.Signal(syscall.SIGHUP) },
	} {
		t.Run(name, func(t *testing.T) {
			s := watchTop(t, h.Addrs().APIURL, "--sort", "players")
			s.frame(`\[players\]`)
			end(s)
			s.over(0)
		})
	}
	t.Run("the terminal is gone", func(t *testing.T) {
		s := watchTop(t, h.Addrs().APIURL)
		s.frame(`\[rate\]`)
		s.slave.Close()
		s.master.Close()
		select {
		case <-s.ended:
		case <-time.After(patience):
			t.Fatal("troupe top goes on without a terminal")
		}
	})
	t.Run("the host is gone", func(t *testing.T) {
		s := watchTop(t, h.Addrs().APIURL)
		s.frame(`\[rate\]`)
		h.Close()
		s.frame(`! no answer since \d\d:\d\d:\d\dZ: no host answers`)
		s.key("q")
		s.over(0)
	})
	t.Run("there is no host", func(t *testing.T) {
		s := watchTop(t, h.Addrs().APIURL)
		select {
		case err := <-s.ended:
			if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != exitFailure {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Fatal("troupe top waits for a host that is not there")
		}
		if strings.Contains(s.text(), "\x1b") {
			t.Errorf("%q", s.text())
		}
	})
}
