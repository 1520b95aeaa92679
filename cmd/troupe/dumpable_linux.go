package main

import (
	"os"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"
)

// notDumpable prevents other processes of the same user, such as scripts in Node.js, from reading the environment, the
// memory and the open files of this process (prctl(2), PR_SET_DUMPABLE). These contain keys. A process that is not
// dumpable writes no core file. Therefore notDumpable does nothing if GOTRACEBACK=crash requests a core file. Profiles
// and /debug are not affected.
func notDumpable(log zerolog.Logger) {
	if os.Getenv("GOTRACEBACK") == "crash" {
		log.Warn().Msg("GOTRACEBACK=crash asks for a core file: other processes of this user can read the host's memory and environment")
		return
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		log.Warn().Err(err).Msg("other processes of this user can read the host's memory and environment")
	}
}
