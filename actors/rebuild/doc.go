// Package rebuild supervises an actor whose state is in the store. When the actor crashes, the Supervisor reads the
// store and starts a new actor with the result. Messages wait in the meantime. An actor runs only during a term (see
// Begin and End).
//
// The Supervisor owns the actor's Ref and the waiting messages. It does not know the actor's state and writes nothing
// to the store.
package rebuild
