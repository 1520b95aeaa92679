// Package rebuild supervises an actor whose state is in the store. When the actor crashes, the Supervisor reads the store and
// starts another one with what it has read; messages wait for it meanwhile. Terms say when there
// is an actor at all: see Begin and End.
//
// The Supervisor owns the actor's Ref and the messages that wait. It does not know what the actor keeps, and it writes nothing.
package rebuild
