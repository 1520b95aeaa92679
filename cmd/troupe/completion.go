package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish. For bash: echo 'source <(troupe completion bash)' >> ~/.bashrc"`
}

// completions ask troupe itself, so that they know what this version has. Where it knows nothing, they offer files.
var completions = map[string]string{
	"bash": `_troupe() {
	local IFS=$'\n'
	COMPREPLY=($("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _troupe troupe
`,
	"zsh": `#compdef troupe
_troupe() {
	local -a found
	found=("${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n "${found[1]}" ]]; then compadd -a found; else _files; fi
}
compdef _troupe troupe
`,
	"fish": `complete -c troupe -a '(troupe complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
}

// Run prints the script for a shell.
func (c *completionCommand) Run(s streams) error {
	_, err := fmt.Fprint(s.out, completions[c.Shell])
	return err
}

type completeCommand struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words of the command line behind troupe; the last one is completed, and may be empty."`
}

// Run prints what the last word may become, one a line: commands, flags, and values of flags that are one of a few.
func (c *completeCommand) Run(k *kong.Context, s streams) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, word := range candidates(k.Model.Node, words) {
		if _, err := fmt.Fprintln(s.out, word); err != nil {
			return err
		}
	}
	return nil
}

// candidates are what the last of words may become below a command.
func candidates(at *kong.Node, words []string) (found []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	value := (*kong.Flag)(nil) // the flag whose value the next word is
	for _, word := range words[:len(words)-1] {
		if value != nil {
			value = nil
			continue
		}
		if strings.HasPrefix(word, "-") {
			if f := flagOf(at, word); f != nil && !f.IsBool() {
				value = f
			}
			continue
		}
		if next := child(at, word); next != nil {
			at = next
		}
	}
	offer := func(word string) {
		if strings.HasPrefix(word, last) && !slices.Contains(found, word) {
			found = append(found, word)
		}
	}
	switch {
	case value != nil:
		for _, v := range value.EnumSlice() {
			if v != "" {
				offer(v)
			}
		}
	case strings.HasPrefix(last, "-"):
		for _, group := range at.AllFlags(true) {
			for _, f := range group {
				offer("--" + f.Name)
			}
		}
	default:
		for _, c := range at.Children {
			if !c.Hidden {
				offer(c.Name)
			}
		}
		for _, p := range at.Positional {
			if p.Enum != "" {
				for _, v := range p.EnumSlice() {
					offer(v)
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

func child(at *kong.Node, name string) *kong.Node {
	for _, c := range at.Children {
		if c.Name == name || slices.Contains(c.Aliases, name) {
			return c
		}
	}
	return nil
}

// flagOf returns the flag that a word names without its value, nil if there is none.
func flagOf(at *kong.Node, word string) *kong.Flag {
	for _, group := range at.AllFlags(false) {
		for _, f := range group {
			if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}
