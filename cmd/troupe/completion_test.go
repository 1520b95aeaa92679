package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// completed completes a line with a real bash.
func completed(t *testing.T, words ...string) []string {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	const script = `source <(troupe completion bash) || exit 1
complete -p troupe | grep -q -- '-F _troupe' || exit 2
COMP_WORDS=(troupe "$@"); COMP_LINE="troupe $*"; COMP_POINT=${#COMP_LINE}
_troupe
printf '%s\n' "${COMPREPLY[@]}"`
	out, err := exec.CommandContext(t.Context(), bash, append([]string{"--norc", "-c", script, "bash"}, words...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.Fields(string(out))
}

func TestBashCompletes(t *testing.T) {
	for i, c := range []struct{ line, want string }{
		{"adm", "admin"},
		{"admin dr", "drain"},
		{"admin drain --ca", "--ca --cancel"},
		{"admin keys ", "list new"},
		{"completion ", "bash fish zsh"},
		{"dev --engine ", "embedded node"},
		{"dev --engine n", "node"},
		{"admin sessions --endpoint ", ""}, // no completion for this value
		{"config check ", ""},              // a file name
		{"nothing-of-this-name --ver", "--version"},
		{"complet", "completion"},
		{"sto", "store"},
	} {
		words := strings.Split(c.line, " ")
		t.Setenv("COMP_LINE", "troupe "+c.line)
		_, out, _ := call()
		t.Setenv("COMP_LINE", "")
		if got := strings.Join(slices.Sorted(slices.Values(strings.Fields(out))), " "); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.line, got, c.want)
		}
		if i == 0 { // bash completes all lines in the same way, so test only one
			if got := completed(t, words...); len(got) != 1 || got[0] != c.want {
				t.Errorf("bash completes %q to %q, want %q", c.line, got, c.want)
			}
		}
	}
}

// The completion scripts of other shells are checked by those shells, if they are installed.
func TestCompletionsOfOtherShellsParse(t *testing.T) {
	for shell, args := range map[string][]string{"zsh": {"-n"}, "fish": {"--no-execute"}} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("%s is not installed", shell)
			}
			cmd := exec.CommandContext(t.Context(), path, args...)
			cmd.Stdin = strings.NewReader(completions[shell])
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
