package host

import (
	"bytes"
	"compress/gzip"
	"io"
	"runtime/pprof"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// countedIn returns how much of a profile, as go tool pprof reads it, was counted in functions with a name that is wanted
// and in what they call: nanoseconds of a CPU profile.
func countedIn(t *testing.T, profile []byte, wanted func(function string) bool) (in, all int64) {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(profile))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	// Field numbers are those of profile.proto.
	var (
		texts     []string
		samples   [][]byte
		functions = make(map[uint64]uint64)   // their names in texts
		locations = make(map[uint64][]uint64) // their functions
		isWanted  = make(map[uint64]bool)     // functions
	)
	eachField(t, raw, func(field protowire.Number, _ uint64, message []byte) {
		switch field {
		case 2: // a sample
			samples = append(samples, message)
		case 4: // a location
			var id uint64
			var lines []uint64
			eachField(t, message, func(field protowire.Number, n uint64, line []byte) {
				switch field {
				case 1:
					id = n
				case 4:
					eachField(t, line, func(field protowire.Number, n uint64, _ []byte) {
						if field == 1 {
							lines = append(lines, n)
						}
					})
				}
			})
			locations[id] = lines
		case 5: // a function
			var id, name uint64
			eachField(t, message, func(field protowire.Number, n uint64, _ []byte) {
				switch field {
				case 1:
					id = n
				case 2:
					name = n
				}
			})
			functions[id] = name
		case 6: // a text
			texts = append(texts, string(message))
		}
	})
	for id, name := range functions {
		isWanted[id] = wanted(texts[name])
	}
	for _, sample := range samples {
		found := false
		var value uint64 // the last one
		eachField(t, sample, func(field protowire.Number, n uint64, many []byte) {
			numbers := []uint64{n}
			if many != nil {
				numbers = unpacked(t, many)
			}
			for _, n := range numbers {
				switch field {
				case 1:
					for _, f := range locations[n] {
						found = found || isWanted[f]
					}
				case 2:
					value = n
				}
			}
		})
		all += int64(value)
		if found {
			in += int64(value)
		}
	}
	return in, all
}

// eachField calls f for each field of a message: with its number, or with its bytes.
func eachField(t *testing.T, message []byte, f func(field protowire.Number, n uint64, b []byte)) {
	t.Helper()
	for len(message) > 0 {
		field, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		message = message[size:]
		var n uint64
		var b []byte
		switch kind {
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			b, size = protowire.ConsumeBytes(message)
		default:
			size = protowire.ConsumeFieldValue(field, kind, message)
		}
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		message = message[size:]
		f(field, n, b)
	}
}

func unpacked(t *testing.T, b []byte) (all []uint64) {
	t.Helper()
	for len(b) > 0 {
		n, size := protowire.ConsumeVarint(b)
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		all, b = append(all, n), b[size:]
	}
	return all
}

// ofConsole reports whether a function is the console's. Mux hands on what is not: all of the service API runs below it.
func ofConsole(function string) bool {
	return strings.HasPrefix(function, "troupe/transport/console.") && !strings.HasPrefix(function, "troupe/transport/console.(*Console).Mux")
}

// The profile of goroutines has this one in a function of this test, and not all of them.
func TestSharesOfAProfile(t *testing.T) {
	release, parked := make(chan struct{}), make(chan struct{})
	defer close(release)
	for range 3 {
		go parkedForTheProfile(parked, release)
		<-parked
	}
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 0); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"host.parkedForTheProfile": 3, "host.TestSharesOfAProfile": 1, "host.noSuchFunction": 0} {
		in, all := countedIn(t, profile.Bytes(), func(function string) bool { return strings.HasSuffix(function, name) })
		if in != want || all < 4 {
			t.Errorf("%s: %d of %d, want %d", name, in, all, want)
		}
	}
}

func parkedForTheProfile(parked, release chan struct{}) {
	parked <- struct{}{}
	<-release
}
