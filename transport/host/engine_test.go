package host

import (
	"runtime"
	"strings"
	"testing"
)

func TestEngines(t *testing.T) {
	for engine, valid := range map[string]bool{
		"goroutine": true, "auto": true, "epoll": runtime.GOOS == "linux", "io_uring": false, "Epoll": false,
	} {
		c := Defaults()
		c.WebSocket.Engine = engine
		if err := c.Validate(); (err == nil) != valid || err != nil && !strings.Contains(err.Error(), "websocket.engine") {
			t.Errorf("%s: %v", engine, err)
		}
	}
}
