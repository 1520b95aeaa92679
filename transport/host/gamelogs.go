package host

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/rs/zerolog"

	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/sessionlog"
	"troupe/messages"
	"troupe/messages/counters"
)

func (l *GameSessionLogs) open(count *counters.Set, log zerolog.Logger) (*sessionlog.Store, error) {
	dir := l.Dir
	if dir == "" {
		dir = defaultLogDir()
	}
	if err := makeable(dir); err != nil {
		return nil, fmt.Errorf("host: log.gameSessions.dir: %w", err)
	}
	s, err := sessionlog.Open(dir, sessionlog.Options{
		Keep: l.Keep, Log: log, Counters: count,
	})
	if err != nil {
		return nil, fmt.Errorf("host: log.gameSessions.dir: %w", err)
	}
	return s, nil
}

func (h *Host) openLog(id messages.GameSessionID, _ *messages.Fleet) script.Sink {
	if h.showLogs {
		return both{h.logs.Open(id), gamesession.HostLog(&h.log, string(id))}
	}
	return h.logs.Open(id)
}

type both [2]script.Sink

// Write implements script.Sink.
func (b both) Write(l script.Line) {
	for _, s := range b {
		s.Write(l)
	}
}

// Close implements script.Sink.
func (b both) Close() {
	for _, s := range b {
		s.Close()
	}
}

// defaultLogDir returns a folder in the user's state folder. If that is not writable, it returns one in the
// folder for temporary files.
func defaultLogDir() string {
	const name = "game-session-logs"
	state := os.Getenv("XDG_STATE_HOME")
	if home, err := os.UserHomeDir(); state == "" && err == nil {
		state = filepath.Join(home, ".local", "state")
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		state, _ = os.UserCacheDir()
	}
	if state != "" {
		dir := filepath.Join(state, "troupe", name)
		if os.MkdirAll(dir, 0o700) == nil {
			return dir
		}
	}
	return tempDir("troupe-" + name)
}

// tempDir returns a temporary folder that only this user can access. It does not use a folder that another
// user has created in advance.
func tempDir(name string) string {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("%s-%d", name, os.Getuid()))
	if os.Mkdir(dir, 0o700) == nil {
		return dir
	}
	if info, err := os.Lstat(dir); err == nil && info.IsDir() && (runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0) {
		return dir
	}
	if own, err := os.MkdirTemp("", name+"-"); err == nil {
		return own
	}
	return dir
}
