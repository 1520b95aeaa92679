package main

import (
	"fmt"
	"path/filepath"

	"troupe/cmd/troupe/internal/newgame"
)

type newCommand struct {
	Game newGameCommand `cmd:"" help:"Make a folder with a game that runs: a script with types, a web page that plays it, and a test."`
}

type newGameCommand struct {
	Name string `arg:"" name:"name" placeholder:"NAME" help:"The folder to make; its last part is the game's name."`
	TS   bool   `name:"ts" help:"Write the script in TypeScript. Nothing needs to be built or installed for it."`
}

func (c *newGameCommand) Run(s streams) error {
	if err := newgame.Write(c.Name, c.TS); err != nil {
		return &exitError{exitUsage, fmt.Errorf("new game: %w", err)}
	}
	main := "main.js"
	if c.TS {
		main = "main.ts"
	}
	troupe, test := invocation(), "npm test"
	if troupe != "troupe" {
		test = "TROUPE=" + troupe + " " + test
	}
	fmt.Fprintf(s.out, `%s is a game that runs. Play it:

  %s dev %s

and open the address that it prints in two windows. Then change %s and save. To test it (Node.js 20 or newer):

  cd %s && %s
`, c.Name, troupe, quoted(c.Name), filepath.Join(c.Name, "server", main), quoted(c.Name), test)
	return nil
}
