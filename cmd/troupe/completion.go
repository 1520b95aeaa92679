package main

import "fmt"

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish. For bash: echo 'source <(troupe completion bash)' >> ~/.bashrc"`
}

// completions holds the completion script of each shell. The scripts run troupe itself with COMP_LINE, so that they
// match the installed version. If troupe offers nothing, they complete file names.
var completions = map[string]string{
	"bash": `_troupe() {
	local IFS=$'\n'
	COMPREPLY=($(COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_POINT= "${COMP_WORDS[0]}" 2>/dev/null))
}
complete -o default -F _troupe troupe
`,
	"zsh": `#compdef troupe
_troupe() {
	local -a found
	found=(${(f)"$(COMP_LINE="${words[1,CURRENT]}" "${words[1]}" 2>/dev/null)"})
	if (( $#found )); then compadd -a found; else _files; fi
}
compdef _troupe troupe
`,
	"fish": `complete -c troupe -a '(env COMP_LINE=(commandline -cp | string collect) troupe 2>/dev/null)'
`,
}

func (c *completionCommand) Run(s streams) error {
	_, err := fmt.Fprint(s.out, completions[c.Shell])
	return err
}
