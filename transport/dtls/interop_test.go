package dtls

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"troupe/messages/counters"
)

// child runs a foreign peer and returns its ends.
func child(t *testing.T, name string, args ...string) (io.WriteCloser, *bufio.Reader) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: %v", name, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, args...)
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

func trustFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, authority().pem, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// conversation has the foreign peer send a line, and answers it.
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
	go func() { // the child's end ends the reading
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
	if got := peer.a.Suite(); got != suite {
		t.Errorf("suite %v, want %v", got, suite)
	}
}

// RT-30.
func TestOpenSSLCompletesAHandshake(t *testing.T) {
	for _, test := range []struct {
		what, ciphers string
		suite         counters.Suite
	}{
		{"ChaCha20", "ECDHE-ECDSA-CHACHA20-POLY1305", counters.SuiteChaCha20},
		{"GCM", "ECDHE-ECDSA-AES128-GCM-SHA256", counters.SuiteAESGCM},
		{"GCM before ChaCha20", "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305", counters.SuiteChaCha20},
	} {
		t.Run(test.what, func(t *testing.T) {
			s := serve(t, nil)
			in, out := child(t, "openssl", "s_client", "-dtls1_2", "-connect", s.Addr().String(), "-cipher", test.ciphers,
				"-CAfile", trustFile(t), "-verify_return_error", "-verify_hostname", "localhost", "-servername", "localhost", "-quiet")
			conversation(t, s, in, out, test.suite)
		})
	}
}

// RT-30.
func TestGnuTLSCompletesAHandshake(t *testing.T) {
	for _, test := range []struct {
		cipher string
		suite  counters.Suite
	}{{"CHACHA20-POLY1305", counters.SuiteChaCha20}, {"AES-128-GCM", counters.SuiteAESGCM}} {
		t.Run(test.cipher, func(t *testing.T) {
			s := serve(t, nil)
			host, port, _ := net.SplitHostPort(s.Addr().String())
			in, out := child(t, "gnutls-cli", "--udp", "--port", port, "--x509cafile", trustFile(t), "--verify-hostname", "localhost",
				"--sni-hostname", "localhost", "--priority", "NONE:+VERS-DTLS1.2:+"+test.cipher+":+AEAD:+ECDHE-ECDSA:+SIGN-ALL:+GROUP-ALL:+COMP-NULL", host)
			conversation(t, s, in, out, test.suite)
		})
	}
}

// Suites and versions that are not offered end in a failed handshake, not in an
// association.
func TestWeakPeersAreRefused(t *testing.T) {
	for what, args := range map[string][]string{
		"DTLS 1.0":      {"-dtls1", "-cipher", "ALL:@SECLEVEL=0"},
		"CBC":           {"-dtls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"},
		"RSA signature": {"-dtls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256"},
	} {
		t.Run(what, func(t *testing.T) {
			s := serve(t, nil)
			child(t, "openssl", append([]string{"s_client", "-connect", s.Addr().String(), "-quiet"}, args...)...)
			counted(t, "failed handshakes", func() int64 {
				return s.count.Handshakes.Get(counters.HandshakeFailed) + s.count.Handshakes.Get(counters.HandshakeTimedOut)
			}, 1)
			if st := s.Stats(); st.Associations != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}
