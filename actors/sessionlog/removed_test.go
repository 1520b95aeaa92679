package sessionlog

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/script"
	"troupe/messages"
)

// The last lines of a log can be read even if another process has removed the file in which they begin.
func TestATailGoesOnInTheNextFile(t *testing.T) {
	const id messages.GameSessionID = "arn:x/fleet/game"
	s, err := Open(t.TempDir(), Options{fileBytes: 64 << 10})
	assert.NoError(t, err)
	defer s.Close()
	k := s.Open(id)
	text := strings.Repeat("x", 30<<10)
	for _, line := range []string{"one " + text, "two " + text, "three " + text, "four " + text} {
		k.Write(script.Line{Time: time.Now(), Text: line})
		s.awaitWritten(s.logs[id])
	}
	k.Close()
	s.awaitWritten(s.logs[id])
	log, whole, err := s.Tail(id, 80<<10)
	if err != nil || whole {
		t.Fatal(whole, err)
	}
	defer log.Close()
	assert.NoError(t, os.Remove(s.path(s.logs[id], 1)))
	all, err := io.ReadAll(log)
	if err != nil || !strings.Contains(string(all), "three x") || !strings.Contains(string(all), "four x") {
		t.Errorf("%d bytes, %v", len(all), err)
	}
}
