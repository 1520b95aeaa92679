package child

import (
	"os"
	"os/exec"
	"strings"
)

// User is a user and a group of the system. The zero value means those of the host.
type User struct{ UID, GID uint32 }

// Other reports whether this is another user than the host's.
func (u User) Other() bool { return u.UID != 0 || u.GID != 0 }

// Limits of a child and its descendants. Zero values mean no limit.
type Limits struct {
	Nice     int    // nice value
	FilesMax uint64 // open files of each process
	DataMax  uint64 // bytes of private memory that each process may map; catches what grows faster than a Keeper can notice
}

// Start says how to start a child. On Linux, a child with a user of its own and all that it starts cannot gain privileges
// (sudo and the like have no effect), and that user may have half of the processes and threads of the machine. The
// former also holds for all later children of its Keeper, the latter for all later children of this process.
type Start struct {
	Cmd    *exec.Cmd // not started; SysProcAttr is set by the Keeper
	User   User
	Limits Limits
	Cgroup *os.File    // folder of a control group (version 2) in which the child starts; nil: the host's
	Use    func(Usage) // called by the Keeper with each sample until the child's end; must not block. Nil: nobody asks
}

// Environment returns the environment that every child gets. The folders come first in its PATH.
func Environment(folders ...string) []string {
	env := []string{"PATH=" + strings.Join(append(folders, "/usr/local/bin", "/usr/bin", "/bin"), string(os.PathListSeparator))}
	if zone, ok := os.LookupEnv("TZ"); ok { // children see the host's time zone
		env = append(env, "TZ="+zone)
	}
	return env
}
