package modules

import (
	"strings"

	"github.com/dop251/goja"

	"troupe/actors/script/js/compile"
	"troupe/messages/lazy"
)

// absent lists the modules of Node.js that the embedded engine does not have.
var absent = compile.Words(`async_hooks child_process cluster constants dgram diagnostics_channel dns dns/promises domain http http2 https inspector inspector/promises module net path/win32 punycode querystring
		readline readline/promises repl sea sqlite stream stream/consumers stream/promises stream/web string_decoder test tls trace_events tty v8 vm wasi worker_threads zlib`)

// absentMembers lists, by module, the functions and classes that the embedded engine's version lacks.
var absentMembers = map[string]map[string]bool{
	"assert": compile.Words("CallTracker doesNotMatch doesNotReject doesNotThrow ifError match rejects"),
	"buffer": compile.Words("Blob File SlowBuffer isAscii isUtf8 resolveObjectURL transcode"),
	"crypto": compile.Words(`Certificate Cipher Cipheriv Decipher Decipheriv DiffieHellman DiffieHellmanGroup ECDH KeyObject Sign Verify X509Certificate checkPrime checkPrimeSync createCipher createCipheriv
		createDecipher createDecipheriv createDiffieHellman createDiffieHellmanGroup createECDH createPrivateKey createPublicKey createSecretKey createSign createVerify diffieHellman
		generateKey generateKeyPair generateKeyPairSync generateKeySync generatePrime generatePrimeSync getCipherInfo getCiphers getCurves getDiffieHellman getHashes hash hkdf hkdfSync pbkdf2
		pbkdf2Sync privateDecrypt privateEncrypt publicDecrypt publicEncrypt randomFill scrypt scryptSync sign timingSafeEqual verify`),
	"events": compile.Words("EventEmitterAsyncResource addAbortListener listenerCount on once"),
	"fs": compile.Words(`Dir Dirent ReadStream WriteStream close closeSync createReadStream createWriteStream exists fchmod fstat fstatSync fsync fsyncSync ftruncate glob globSync opendir opendirSync read
		readSync readlink readlinkSync readv statfs unwatchFile watch watchFile write writeSync writev`),
	"path":       compile.Words("matchesGlob win32"),
	"path_win32": compile.Words("basename dirname extname format isAbsolute join normalize parse relative resolve toNamespacedPath"),
	"perf_hooks": compile.Words("PerformanceObserver createHistogram monitorEventLoopDelay"),
	"process": compile.Words(`binding chdir cpuUsage dlopen getegid geteuid getgid getgroups getuid getActiveResourcesInfo getBuiltinModule initgroups kill loadEnvFile reallyExit resourceUsage
		setUncaughtExceptionCaptureCallback setegid seteuid setgid setgroups setuid umask`),
	"timers_promises": compile.Words("setInterval"),
	"url":             compile.Words("Url domainToASCII domainToUnicode parse resolve resolveObject urlToHttpOptions"),
	"util": compile.Words(`MIMEParams MIMEType aborted callbackify formatWithOptions getSystemErrorMap getSystemErrorName isBoolean isBuffer isDate isError isFunction isNull isNullOrUndefined isNumber isObject
		isPrimitive isRegExp isString isSymbol isUndefined log parseArgs parseEnv stripVTControlCharacters styleText toUSVString transferableAbortController transferableAbortSignal`),
	"util_types": compile.Words(`isArgumentsObject isArrayBufferView isAsyncFunction isBoxedPrimitive isDataView isExternal isGeneratorFunction isGeneratorObject isMapIterator isNumberObject isSetIterator
		isStringObject isSymbolObject`),
}

// absentGlobals and absentMethods list the globals and methods of Node.js and of the language that the
// embedded engine lacks.
var (
	absentGlobals = compile.Words(`AbortController AbortSignal Atomics Blob BroadcastChannel CompressionStream CustomEvent DOMException Event EventSource EventTarget File FinalizationRegistry Float16Array FormData
		Headers Intl Iterator MessageChannel MessagePort ReadableStream Request Response SharedArrayBuffer TransformStream WeakRef WebAssembly WebSocket WritableStream fetch navigator
		structuredClone`)
	absentMethods = compile.Words(`bigint formatToParts fromAsync groupBy isWellFormed readBigInt64BE readBigInt64LE readBigUInt64BE readBigUInt64LE readIntBE readIntLE readUIntBE readUIntLE swap16 swap32 swap64
		toWellFormed try withResolvers writeBigInt64BE writeBigInt64LE writeBigUInt64BE writeBigUInt64LE writeIntBE writeIntLE writeUIntBE writeUIntLE`)
)

// border is the prototype of a module's exports. For a member that the exports lack, it returns a function
// that throws an explanatory error.
type border struct {
	Sealed
	loader *Loader
	module string
}

func (b *border) Get(name string) goja.Value { return b.loader.absentMember(b.module, name) }

// withBorder inserts a border into the prototype chain of a module's exports.
func (l *Loader) withBorder(module string, exports goja.Value) {
	o, ok := exports.(*goja.Object)
	if !ok || absentMembers[module] == nil {
		return
	}
	b := l.runtime.NewDynamicObject(&border{loader: l, module: module})
	must(b.SetPrototype(o.Prototype()))
	must(o.SetPrototype(b))
}

// absentMember returns a function that throws, or nil if the member is not in absentMembers.
func (l *Loader) absentMember(module, name string) goja.Value {
	if !absentMembers[module][name] {
		return nil
	}
	if inner := module + "_" + name; absentMembers[inner] != nil {
		return l.runtime.NewDynamicObject(&border{loader: l, module: inner})
	}
	return l.runtime.ToValue(func(goja.ConstructorCall) *goja.Object {
		panic(l.coded("Error", "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM", compile.Lacks(strings.ReplaceAll(module, "_", "/")+"."+name)))
	})
}

var (
	notThere = lazy.Regexp(`^(?:\w+: )*(?:(\w+) is not defined|Object has no member '(\w+)')`)
	// bounded matches messages of errors about limits of the embedded engine.
	bounded = lazy.Regexp(`^(?:\w+: )*(?:EACCES: permission denied|EROFS: read-only|Invalid string length|JSON is nested more|Invalid digest|a list of \d+ is too|a regular expression of \d+ |Invalid flags supplied to RegExp constructor .[a-z]*[dv])`)
)

// Hint returns a text to append to an error message if the embedded engine lacks or forbids what the message
// is about. Otherwise it returns "".
func Hint(message string) string {
	if m := notThere().FindStringSubmatch(message); m != nil && (absentGlobals[m[1]] || absentMethods[m[2]]) {
		return ": " + compile.Lacks("it")
	}
	if bounded().MatchString(message) {
		return ": the embedded engine does not allow it; " + compile.UseNode
	}
	return ""
}
