package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Names that callers of the service API have chosen cannot control a terminal.
func TestTablesEscapeControlCharacters(t *testing.T) {
	var b bytes.Buffer
	if err := PrintTable(&b, []string{"NAME", "STATUS", "LOCATION"}, [][]string{{"\x1b[2J\n☃", "ACTIVE", ""}}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if got := strings.Join(strings.Fields(lines[len(lines)-1]), " "); got != `\x1b[2J\n☃ ACTIVE -` || len(lines) != 2 {
		t.Errorf("got %q", lines)
	}
}

func TestJSONHasNoNulls(t *testing.T) {
	type key struct {
		ID     string
		Secret *string
		Burst  *int
	}
	var b bytes.Buffer
	if err := PrintJSON(&b, []key{{ID: "q", Burst: new(int)}}); err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || fmt.Sprint(got) != "[map[Burst:0 ID:q]]" {
		t.Errorf("got %s, %v", b.Bytes(), err)
	}
	b.Reset()
	if err := PrintJSON(&b, []key{}); err != nil || b.String() != "[]\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}
