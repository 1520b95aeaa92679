// Package watch reports changes of a script's files. It polls their sizes and
// modification times, which works on every system and with every editor, and is cheap
// because scripts are small. It neither reads the files nor runs scripts.
package watch
