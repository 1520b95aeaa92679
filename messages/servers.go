package messages

import "strings"

// GameServer is an executable that every host starts for the game sessions of a fleet. It speaks the Server SDK. It is
// immutable.
type GameServer struct {
	Path string   // of the executable, on each host
	Args []string `json:",omitempty"` // {port} in them stands for the port of the process
	// Env are further variables of its environment, which has nothing of the host's, as NAME=value. {port} stands for
	// the port.
	Env []string `json:",omitempty"`
	Dir string   `json:",omitempty"` // working directory; empty: the folder of Path
	// Each process gets a port from PortFrom to PortTo. Both are 0 if the executable chooses its ports itself.
	PortFrom, PortTo int     `json:",omitempty"`
	User             string  `json:",omitempty"` // name or number of the user of its processes; empty: the host's own
	MemoryMax        int64   `json:",omitempty"` // bytes of each process and what it starts; 0: no limit
	CPUs             float64 `json:",omitempty"` // processors that each process may use; 0: no limit
}

// Parameters returns the arguments as a text of the service API.
func (s *GameServer) Parameters() string { return strings.Join(s.Args, " ") }

// Ports returns the number of ports, or 0 if the executable chooses its ports.
func (s *GameServer) Ports() int {
	if s.PortFrom == 0 {
		return 0
	}
	return s.PortTo - s.PortFrom + 1
}
