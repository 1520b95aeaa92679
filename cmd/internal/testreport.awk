# Prints what go test -json says of packages and of tests that fail; at the end what was skipped, and why, and what took time, in s.
function text(key) {
	if (!match($0, "\"" key "\":\"([^\"\\\\]|\\\\.)*\"")) return ""
	return substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 5)
}
function plain(s) {
	gsub(/\\n/, "\n", s); gsub(/\\t/, "\t", s); gsub(/\\"/, "\"", s); gsub(/\\u003c/, "<", s); gsub(/\\u003e/, ">", s); gsub(/\\u0026/, "\\&", s)
	return s
}
!/^\{"/ { print; next }
{ action = text("Action"); pkg = text("Package"); name = text("Test"); key = pkg " " name; out = plain(text("Output")) }
action == "build-output" { printf "%s", out }
action == "output" && name == "" && out ~ /^(ok|FAIL|\?) *\t/ { verdict[pkg] = out }
action == "output" && out !~ /^(=== (RUN|PAUSE|CONT|NAME) |PASS\n|(ok|FAIL|\?) *\t)/ { said[key] = said[key] out }
action == "output" && out !~ /^ *(=== |--- SKIP)/ && out ~ /[^ \n]/ { last[key] = out }
action == "skip" && name != "" {
	gsub(/^ +|\n$/, "", last[key])
	why = "  " pkg ": " last[key] ":"
	skipped[why] = skipped[why] " " name
}
action ~ /^(pass|skip)$/ { delete said[key] }
action ~ /^(pass|fail)$/ && match($0, /"Elapsed":[0-9.]+/) {
	took[name == "" ? 1 : name ~ /\// ? 3 : 2] = took[name == "" ? 1 : name ~ /\// ? 3 : 2] sprintf("%9.2f  %s\n", substr($0, RSTART + 10, RLENGTH - 10), key)
}
action == "fail" { printf "%s", said[key]; delete said[key] }
action ~ /^(pass|skip|fail)$/ && name == "" { printf "%s", verdict[pkg]; fflush() }
END {
	print "skipped:"; fflush()
	for (why in skipped) print why skipped[why] | "sort"
	close("sort")
	for (i = 1; i < 3; i++) {
		print (i == 1 ? "the packages" : "the tests") " that took most time, in s:"; fflush()
		printf "%s", took[i] | "sort -rn | head -20"
		close("sort -rn | head -20")
	}
}
