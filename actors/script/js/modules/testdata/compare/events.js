const E=require("events");const e=new E();const out=[];
e.on("a",x=>out.push("a"+x));e.once("a",x=>out.push("once"+x));e.prependListener("a",x=>out.push("first"+x));
e.emit("a",1);e.emit("a",2);console.log(out.join(),e.listenerCount("a"),e.eventNames().join(),e.emit("none"));
class X extends E{};const x=new X();x.on("error",er=>console.log("err",er.message));x.emit("error",new Error("q"));
try{new E().emit("error","s")}catch(er){console.log(er.code,er.message)}
function Old(){E.call(this)};require("util").inherits(Old,E);const o=new Old();o.on("z",()=>console.log("z"));o.emit("z");
const p=new E();const f=()=>{};p.on("q",f);p.off("q",f);p.once("w",f);p.removeAllListeners("w");p.removeAllListeners();console.log(p.eventNames().length);
const r=new E();const g=()=>{r.off("k",g);r.on("k",()=>console.log("late"));console.log("g")};r.on("k",g);r.emit("k");r.emit("k");
const u=Object.create(E.prototype);u.on("i",()=>console.log("i"));u.emit("i");console.log(u.listenerCount("i"), u.listeners("i").length);