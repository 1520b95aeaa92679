package stock

import (
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// Stack selects the program that implements DTLS for the client. It shares no code with the server under
// test.
type Stack int

// The stacks. The zero value in [DTLS] means OpenSSL.
const (
	OpenSSL Stack = iota + 1 // openssl s_client, whose output shows the boundaries of records
	GnuTLS                   // gnutls-cli, whose output has no record boundaries, so units are separated by their length only
)

// Cipher is what the client offers. Key exchange and signature are always ECDHE and ECDSA. The zero value in
// [DTLS] means both ciphers.
type Cipher int

// The ciphers.
const (
	ChaCha20  Cipher = iota + 1 // ChaCha20-Poly1305
	AES128GCM                   // AES-128-GCM
)

// HasOpenSSL returns the path of an openssl that [OpenSSL] can use. If there is none, it returns the reason,
// for skipping a test.
func HasOpenSSL() (path, reason string) { return hasOpenSSL() }

// HasGnuTLS is HasOpenSSL for [GnuTLS].
func HasGnuTLS() (path, reason string) { return hasGnuTLS() }

var (
	hasOpenSSL = lookFor("openssl", []string{"s_client", "-help"}, "-dtls1_2", "-brief", "-nocommands", "-verify_hostname")
	hasGnuTLS  = lookFor("gnutls-cli", []string{"--help"}, "--udp", "--mtu", "--sni-hostname", "--verify-hostname")
)

// lookFor returns a function that finds the program, once per process, and checks that its help lists all
// options.
func lookFor(name string, help []string, options ...string) func() (path, reason string) {
	return sync.OnceValues(func() (string, string) {
		if !canRunDTLS {
			return "", "DTLS programs are driven over packet sockets, which this system does not have"
		}
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Sprintf("%s is not installed: %v", name, err)
		}
		out, err := exec.Command(path, help...).CombinedOutput()
		for _, option := range options {
			if !strings.Contains(string(out), option) {
				return "", fmt.Sprintf("%s does not know %s (%v)", path, option, err)
			}
		}
		return path, ""
	})
}

// program describes how to run a stack.
type program struct {
	path  string
	args  []string
	ready string // text that it prints at the end of a handshake with a verified server
	// prologue means that ready is printed on the standard output, before the first record, and not on the
	// standard error.
	prologue bool
	chunk    int // see records.chunk
}

func (d DTLS) program(to dtlsTarget, caFile string) (program, error) {
	if d.Stack == GnuTLS {
		return d.gnutls(to, caFile)
	}
	return d.openssl(to, caFile)
}

func (d DTLS) openssl(to dtlsTarget, caFile string) (program, error) {
	path, reason := HasOpenSSL()
	if path == "" {
		return program{}, fmt.Errorf("%s", reason)
	}
	const chacha, gcm = "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-ECDSA-AES128-GCM-SHA256"
	cipher := map[Cipher]string{0: chacha + ":" + gcm, ChaCha20: chacha, AES128GCM: gcm}[d.Cipher]
	args := []string{
		"s_client", "-dtls1_2", "-connect", to.server.String(), "-cipher", cipher,
		"-CAfile", caFile, "-no-CApath", "-verify_return_error", "-verify_hostname", to.name, "-servername", to.name,
		"-brief", "-nocommands", "-no_ign_eof", "-nbio", // nbio: while a record is incomplete, the other direction must not stop
	}
	if to.local != "" {
		args = append(args, "-bind", to.local)
	}
	return program{path: path, args: args, ready: "Verification: OK\n", chunk: 1024}, nil
}

func (d DTLS) gnutls(to dtlsTarget, caFile string) (program, error) {
	path, reason := HasGnuTLS()
	if path == "" {
		return program{}, fmt.Errorf("%s", reason)
	}
	if to.local != "" {
		return program{}, fmt.Errorf("%w: gnutls-cli cannot bind a local address", ErrUnsupported)
	}
	const chacha, gcm = ":+CHACHA20-POLY1305", ":+AES-128-GCM"
	cipher := map[Cipher]string{0: chacha + gcm, ChaCha20: chacha, AES128GCM: gcm}[d.Cipher]
	host := to.server.IP.String()
	if to.server.Zone != "" {
		host = (&net.IPAddr{IP: to.server.IP, Zone: to.server.Zone}).String()
	}
	return program{
		path: path,
		args: []string{
			"--udp", "--port", strconv.Itoa(to.server.Port), "--mtu", "1500", "--x509cafile", caFile,
			"--sni-hostname", to.name, "--verify-hostname", to.name,
			"--priority", "NORMAL:-VERS-ALL:+VERS-DTLS1.2:-KX-ALL:+ECDHE-ECDSA:-CIPHER-ALL" + cipher, host,
		},
		ready: "- Simple Client Mode:\n\n", prologue: true,
	}, nil
}
