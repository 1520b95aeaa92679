package report

import "troupe/bench/result"

// Machine says where and with what a result was made.
type Machine = result.Machine

// ThisMachine looks the machine up.
func ThisMachine() Machine { return result.ThisMachine() }

// BuildOf says which commit and Go version a server binary was made of.
func BuildOf(bin string) (string, error) { return result.BuildOf(bin) }
