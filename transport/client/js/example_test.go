package js_test

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"troupe/transport/host"
	"troupe/transport/tlsconf"
)

// storage is inserted before the example. A frame shares the sessionStorage of its window, but must have its own seat.
const storage = `<script>
if (self !== top) Object.defineProperty(self, 'sessionStorage', { value: { getItem: () => null, setItem() {}, removeItem() {} } })
</script>
`

// watcher is added to the example. It opens a second window of the example and cuts the network of the first one. It
// reports when both have seen each other and the first one has reconnected.
const watcher = `<script type="module">
const status = document.querySelector('#status')
const log = []
onerror = (e) => { log.push('error: ' + e) }
if (self === top) {
  const other = document.createElement('iframe')
  other.src = location.href
  document.body.append(other)
}
let step = 0
const seen = () => fetch('/seen', { method: 'POST', body: [...log, sessionStorage.getItem('seat')].join('\n') })
setInterval(() => {
  const text = status.textContent
  if (text !== log.at(-1)) log.push(text)
  if (self !== top) return
  if (step === 0 && text === '2 players · connected') { step = 1; document.querySelector('#cut').click() }
  if (step === 1 && /^2 players · back after/.test(text)) { step = 2; seen() }
  if (log.length === 50) seen()
}, 20)
</script>
</html>`

// TestExample runs the game of the example in two windows of a browser. The game must survive a cut of the network.
func TestExample(t *testing.T) {
	wholeOnly(t)
	playExample(t, false)
}

// TestExampleByHTTPS does the same with a page loaded over https, which uses wss. The browser trusts the host's
// authority only because it is installed there.
func TestExampleByHTTPS(t *testing.T) {
	wholeOnly(t)
	if !certutil() {
		missing(t, "there is no certutil (libnss3-tools): no browser with a trusted authority is tried over wss")
	}
	playExample(t, true)
}

func playExample(t *testing.T, secure bool) {
	page, err := os.ReadFile("example/index.html")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(page, []byte("\n")); lines >= 120 {
		t.Errorf("the example has %d lines; less than 120 are promised", lines)
	}
	cfg := host.Defaults()
	cfg.API.Addr, cfg.WebSocket.Addr, cfg.Fast.Addr, cfg.WSS.Addr, cfg.DTLS.Addr, cfg.KCP.Addr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "", "", ""
	cfg.Log.GameSessions.Dir = os.DevNull
	url, ca := `"url":"ws://127.0.0.1:`, ""
	if secure {
		cfg.WSS.Addr, cfg.DTLS.Addr, cfg.TLS.Dir = "127.0.0.1:0", "127.0.0.1:0", t.TempDir()
		cfg.Fleets[0].Certificates = "GENERATED"
		url, ca = `"url":"wss://localhost:`, tlsconf.CAFile(cfg.TLS.Dir)
	}
	h, err := host.Start(host.Options{Config: cfg, Log: zerolog.Nop(), Dev: true})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	seen := make(chan []byte, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /seen", posted(seen))
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		watched := bytes.Replace(page, []byte("</html>"), []byte(watcher), 1)
		_, _ = w.Write(bytes.Replace(watched, []byte("<script"), []byte(storage+"<script"), 1))
	})
	server := httptest.NewUnstartedServer(mux)
	if secure {
		certs, err := tlsconf.Load(tlsconf.Options{Dir: cfg.TLS.Dir}) // the host's certificates
		if err != nil {
			t.Fatal(err)
		}
		server.TLS = &tls.Config{Certificates: []tls.Certificate{*certs.Certificate()}, MinVersion: tls.VersionTLS12}
		server.StartTLS()
	} else {
		server.Start()
	}
	defer server.Close()
	var log []byte
	chromium(t, server.URL+"/?host="+h.Addrs().APIURL, ca, answered(seen, &log))
	for _, want := range []string{"2 players · connected", "2 players · reconnecting", "2 players · back after", url} {
		if !strings.Contains(string(log), want) {
			t.Errorf("the page never says %q: %s", want, log)
		}
	}
	if strings.Contains(string(log), "error") {
		t.Errorf("%s", log)
	}
}
