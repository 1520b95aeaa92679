// Package list is a linked list whose elements bring their own links, so that adding one allocates nothing and taking one out searches for
// nothing. Listeners keep in such lists, oldest first, the connections of which one may have to give way.
package list
