package bundle

// Bundle is the files of one version of a script. Immutable.
type Bundle struct {
	// Files by path: slashes, relative, cleaned.
	Files map[string][]byte
	// Version names the version, for records and logs.
	Version string
	// NodeVersion is "10.x" or "24.x": an unhandled rejection ends the process of the
	// second only (realtime.md 18.3).
	NodeVersion string
}
