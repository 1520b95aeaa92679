// Package list is a linked list whose elements contain their own links. So adding an element allocates nothing, and removing
// one needs no search. Listeners use such lists, ordered by age, for connections of which one may have to be evicted.
package list
