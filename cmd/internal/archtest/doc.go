// Package archtest states what the packages of the module may know of each
// other, and a few things that keep them readable, as tests: they read the
// source of the whole module and fail with the place and the reason. Each rule
// is proved able to fail by a made-up source. There is nothing here but tests.
package archtest
