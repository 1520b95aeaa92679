package main

import (
	_ "embed"
	"io"
)

//go:embed THIRD_PARTY_NOTICES
var thirdPartyNotices string

type licensesCommand struct{}

func (licensesCommand) Run(s streams) error {
	_, err := io.WriteString(s.out, thirdPartyNotices)
	return err
}
