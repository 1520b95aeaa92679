// Package watch notices that the files of a script have changed, by looking at
// their sizes and times every so often: scripts are small, and every system and
// every editor can do that. It reads no file, and neither knows nor runs scripts.
package watch
