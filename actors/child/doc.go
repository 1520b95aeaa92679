// Package child starts processes of other programs as children of the host: Node.js with scripts (actors/script/node), and
// game servers (actors/serverprocess/launch).
//
// A child has its own process group, and on Linux the kernel kills it when the host ends. All that it starts carries a
// mark, so it ends with the child even if it leaves the group. A Keeper starts the children, tells what they use, and
// returns a Process for each. A Folder keeps the tag of its marks, so that a later host finds what is left of one that was
// killed. Lines reads what one of them prints.
//
// Nothing of the host's environment is passed on: Environment is what every child gets, and callers add to it.
package child
