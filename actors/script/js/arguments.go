package js

import (
	"github.com/dop251/goja"

	"troupe/actors/script"
)

// arguments are those of a call into the script. They are made inside the call, where
// the watchdog looks on: even that may run code of the script, which can have replaced
// a global or a setter of Object.prototype.
type arguments struct {
	h    *Handler
	list []goja.Value // of one call after the other: the engine copies it
}

func (a *arguments) add(v goja.Value) { a.list = append(a.list, v) }

func (a *arguments) i32(n int32) { a.add(a.h.vm.ToValue(n)) }

// bytes adds a plain Uint8Array with a copy of b.
func (a *arguments) bytes(b []byte) { a.add(a.h.bytes(append([]byte(nil), b...))) }

func (a *arguments) player(p script.Player) {
	a.i32(int32(p.PeerID))
	a.add(a.h.vm.ToValue(string(p.PlayerSessionID)))
	a.add(a.h.vm.ToValue(string(p.PlayerID)))
	a.add(a.h.vm.ToValue(p.PlayerData))
}

func (a *arguments) message(m *script.Message) { a.add(a.h.inbound(m)) }

type property struct {
	name  string
	value any
}

// object makes a plain object. It defines what it has: no setter sees it.
func (a *arguments) object(properties ...property) *goja.Object {
	o := a.h.vm.NewObject()
	for _, p := range properties {
		_ = o.DefineDataProperty(p.name, a.h.vm.ToValue(p.value), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
	return o
}
