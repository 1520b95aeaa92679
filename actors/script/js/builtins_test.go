package js

import (
	"testing"

	"github.com/dop251/goja"
)

// A runtime without a Handler behaves as if there were no guards. The tests of hostile scripts cover the
// guards themselves.
func TestTheEngineIsAsItIsGuarded(t *testing.T) {
	guardEngine()
	vm := goja.New()
	v, err := vm.RunString(`const a = []; a.length = 2 * 2 ** 20; a.fill.name + a.indexOf(1) + [].concat([1]).length + typeof eval + [...[1]].length`)
	if err != nil || v.String() != "fill-11function1" {
		t.Errorf("%v, %v", v, err)
	}
	if v := vm.Get("BigInt"); v != nil {
		t.Errorf("BigInt is %v", v)
	}
}

// Guarded built-ins keep their names, lengths and identities.
func TestGuardedBuiltInsLookAsTheyDid(t *testing.T) {
	g := start(t, calm(), only(`
exports.ssExports = { init(s) { s.getLogger().info(
  [].fill.name, [].fill.length, [].values === [][Symbol.iterator], [].constructor === Array, Array.from.length, (() => {}).constructor === Function,
  ''.repeat.name, ''.replace.length, Reflect.apply.length, Proxy.length, JSON.parse.name, JSON.stringify.length, eval.name, eval.length, Uint8Array.name, Uint8Array.length,
  Object.setPrototypeOf.name, Object.getOwnPropertyDescriptor(Object.prototype, '__proto__').set.name, new Uint8Array(2).constructor === Uint8Array,
  Object.getOwnPropertyNames(globalThis).includes('BigInt'), Function('return 1').constructor === Function); } };`))
	g.logged(t, "fill 1 true true 1 true repeat 2 3 2 parse 3 eval 1 Uint8Array 3 setPrototypeOf set __proto__ true false true")
}
