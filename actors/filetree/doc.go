// Package filetree passes on the files of scripts and builds: those of a zip archive, or of a folder. Both are input from
// outside, so it refuses what would be another file on another machine, or lead out of the folder.
//
// It neither keeps nor writes files, and does not limit their bytes. Its callers do that in Tree.File.
package filetree
