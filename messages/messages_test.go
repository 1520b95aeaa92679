package messages

import (
	"errors"
	"strings"
	"testing"
)

func TestCloseReasonsAreUniqueAndNamed(t *testing.T) {
	codes, names := map[CloseReason]bool{}, map[string]bool{}
	for _, r := range CloseReasons() {
		if codes[r] || names[r.String()] {
			t.Errorf("%d %s is there twice", r, r)
		}
		codes[r], names[r.String()] = true, true
		if strings.HasPrefix(r.String(), "code_") || r.Retry() == 0 {
			t.Errorf("%d has no row in the table", r)
		}
		if r < 1000 || r > 1015 && r < 4000 || r > 4999 {
			t.Errorf("%d is not a close code an application may send", r)
		}
	}
	if got := CloseReason(4998).String(); got != "code_4998" {
		t.Errorf("unknown reason %q", got)
	}
}

func TestStatusesAreWrittenAndReadBack(t *testing.T) {
	for i, name := range gameSessionStatusNames[1:] {
		if s, ok := ParseGameSessionStatus(name); !ok || s != GameSessionActivating+GameSessionStatus(i) || s.String() != name {
			t.Errorf("%s reads back as %v", name, s)
		}
	}
	for i, name := range PlayerSessionStatusNames() {
		if s, ok := ParsePlayerSessionStatus(name); !ok || s != PlayerSessionReserved+PlayerSessionStatus(i) || s.String() != name {
			t.Errorf("%s reads back as %v", name, s)
		}
	}
	for _, text := range []string{"", "active", "invalid(0)", "ACTIVE "} {
		if _, ok := ParseGameSessionStatus(text); ok {
			t.Errorf("%q is a status", text)
		}
		if _, ok := ParsePlayerSessionStatus(text); ok {
			t.Errorf("%q is a status", text)
		}
	}
}

// A short id is enough to find a player session in a log, but not enough to log in.
func TestShortHidesTheSecret(t *testing.T) {
	for in, want := range map[PlayerSessionID]string{
		"psess-0123456789abcdef": "01234567", "psess-ab": "ab", "": "", "else-where-long": "else-whe",
	} {
		if got := in.Short(); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestErrorsCompareByCode(t *testing.T) {
	err := error(Errorf(NotFound, "fleet %s", "x"))
	if !errors.Is(err, &Error{Code: NotFound}) || errors.Is(err, &Error{Code: Conflict}) {
		t.Error("codes do not decide")
	}
	if err.Error() != "fleet x" {
		t.Errorf("text %q", err)
	}
}
