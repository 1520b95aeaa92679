package launch

import (
	"fmt"
	"os"
	"os/user"
	"runtime"
	"strconv"

	"troupe/actors/child"
)

// CheckUser returns an error if this host cannot start processes as a user. An empty name is the host's own user.
func CheckUser(name string) error {
	_, _, err := lookUp(name)
	return err
}

// Supported returns an error if this host can start no game servers.
func Supported() error {
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" || runtime.GOOS == "js" {
		return fmt.Errorf("a host on %s starts no game servers", runtime.GOOS)
	}
	return nil
}

// lookUp returns a user by name or number, and its home folder.
func lookUp(name string) (u child.User, home string, err error) {
	if name == "" {
		return u, "", nil
	}
	found, err := user.Lookup(name)
	if err != nil {
		if found, err = user.LookupId(name); err != nil {
			return u, "", fmt.Errorf("user %q is not known on this machine", name)
		}
	}
	uid, errUID := strconv.ParseUint(found.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(found.Gid, 10, 32)
	if errUID != nil || errGID != nil {
		return u, "", fmt.Errorf("user %q has no number", name)
	}
	u = child.User{UID: uint32(uid), GID: uint32(gid)}
	switch own := os.Geteuid(); {
	case own == int(uid):
		return child.User{}, found.HomeDir, nil
	case own != 0:
		return u, "", fmt.Errorf("user %q: %w", name, errUser)
	}
	return u, found.HomeDir, nil
}
