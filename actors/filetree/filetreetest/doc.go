// Package filetreetest makes zip archives for the tests of filetree and of those who use it. It writes what it is told to, so
// an archive may have entries that no packer makes: links, devices, paths that lead out of the folder. Only tests import it.
package filetreetest
