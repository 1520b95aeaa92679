// Package thread tells the operating system how to schedule the thread on which a goroutine runs. It is for calls that
// cannot be paused: it makes sure that they use only CPU time that no other thread wants at that moment. The package
// owns nothing and starts nothing. It has an effect only on Linux 6.12 and later; elsewhere its functions only make the
// call.
package thread
