// Package thread tells the operating system how to schedule the thread that a goroutine runs on. It is for calls that
// nothing can pause: what they take from others is then only time that nobody else wants at that moment. It owns nothing and starts
// nothing. Only Linux from 6.12 on is told; elsewhere its functions just call.
package thread
