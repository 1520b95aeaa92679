package dtls

import (
	"bufio"
	"context"
	"encoding/pem"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"troupe/messages/counters"
)

// child runs a foreign peer and returns its input and output.
func child(t *testing.T, command ...string) (io.WriteCloser, *bufio.Reader) {
	t.Helper()
	name := command[0]
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: %v", name, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, command[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints strings.Builder
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s said: %s", name, complaints.String())
		}
	})
	return in, bufio.NewReader(out)
}

// conversation lets the foreign peer send a line, and answers it.
func conversation(t *testing.T, s *server, in io.Writer, out *bufio.Reader, suite counters.Suite) {
	t.Helper()
	if _, err := io.WriteString(in, "hello\n"); err != nil {
		t.Fatal(err)
	}
	peer := await(t, s.new)
	if got := await(t, peer.got); string(got) != "hello\n" {
		t.Errorf("the host got %q", got)
	}
	peer.a.Write([]byte("welcome\n"))
	found := make(chan string, 1)
	go func() { // ends when the child's output ends
		for {
			line, err := out.ReadString('\n')
			if strings.Contains(line, "welcome") || err != nil {
				found <- line
				return
			}
		}
	}()
	if line := await(t, found); !strings.Contains(line, "welcome") {
		t.Errorf("the peer got %q", line)
	}
	if got := peer.a.keys.suite; got != suite {
		t.Errorf("suite %v, want %v", got, suite)
	}
}

// Foreign peers complete a handshake with a supported suite. With other suites or versions the handshake fails.
// RT-30.
func TestForeignPeers(t *testing.T) {
	openssl := func(args ...string) func(addr, trust string) []string {
		return func(addr, trust string) []string {
			return append([]string{"openssl", "s_client", "-connect", addr, "-CAfile", trust, "-verify_return_error",
				"-verify_hostname", "localhost", "-servername", "localhost", "-quiet"}, args...)
		}
	}
	gnutls := func(cipher string) func(addr, trust string) []string {
		return func(addr, trust string) []string {
			host, port, _ := net.SplitHostPort(addr)
			return []string{"gnutls-cli", "--udp", "--port", port, "--x509cafile", trust, "--verify-hostname", "localhost", "--sni-hostname", "localhost",
				"--priority", "NONE:+VERS-DTLS1.2:+" + cipher + ":+AEAD:+ECDHE-ECDSA:+SIGN-ALL:+GROUP-ALL:+COMP-NULL", host}
		}
	}
	const chaCha, gcm = "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-ECDSA-AES128-GCM-SHA256"
	trust := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(trust, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, test := range map[string]struct {
		command func(addr, trust string) []string
		suite   counters.Suite // 0 if the handshake must fail
	}{
		"OpenSSL, ChaCha20":            {openssl("-dtls1_2", "-cipher", chaCha), counters.SuiteChaCha20},
		"OpenSSL, GCM":                 {openssl("-dtls1_2", "-cipher", gcm), counters.SuiteAESGCM},
		"OpenSSL, GCM before ChaCha20": {openssl("-dtls1_2", "-cipher", gcm+":"+chaCha), counters.SuiteChaCha20},
		"OpenSSL, DTLS 1.0":            {openssl("-dtls1", "-cipher", "ALL:@SECLEVEL=0"), 0},
		"OpenSSL, CBC":                 {openssl("-dtls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"), 0},
		"OpenSSL, RSA signature":       {openssl("-dtls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256"), 0},
		"GnuTLS, ChaCha20":             {gnutls("CHACHA20-POLY1305"), counters.SuiteChaCha20},
		"GnuTLS, GCM":                  {gnutls("AES-128-GCM"), counters.SuiteAESGCM},
	} {
		t.Run(what, func(t *testing.T) {
			s := serve(t, nil)
			in, out := child(t, test.command(s.Addr().String(), trust)...)
			if test.suite != 0 {
				conversation(t, s, in, out, test.suite)
				return
			}
			counted(t, "failed handshakes", func() int64 {
				return s.count.Handshakes.Get(counters.HandshakeFailed) + s.count.Handshakes.Get(counters.HandshakeTimedOut)
			}, 1)
			if st := s.Stats(); st.Associations != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}
