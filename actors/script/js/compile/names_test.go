package compile

import "testing"

// What esbuild does not rename has its name from the engine, and costs no call of a helper
// when it is made.
func TestOnlyWhatIsRenamedIsNamedByAHelper(t *testing.T) {
	const text = `
async function* lowered() {}
const Hidden = 0;
{ class Hidden {} exports.hidden = Hidden.name; }
function declared() {}
let all;
for (let i = 0; i < 1000; i++) {
  const arrow = () => {}, plain = function () {}, own = function named() {};
  let later; later = () => {};
  const o = { key: () => {}, method() {}, list: [() => {}] };
  class A { field = () => {} }
  all = [arrow, plain, own, later, declared, o.key, o.method, o.list[0], A, (function given() {})];
}
exports.names = all.map((f) => f.name).join();`
	p, err := unit(t, "x.js", text).Program("x.js")
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	o, err := runPausing(p, func() { looks++ })
	if err != nil {
		t.Fatal(err)
	}
	if got := o.Get("hidden").String() + " " + o.Get("names").String(); got != "Hidden arrow,plain,named,later,declared,key,method,,A,given" {
		t.Error(got)
	}
	if looks > 1000+100 { // one in each turn
		t.Errorf("%d looks in 1000 turns", looks)
	}
}
