package websocket

import "bytes"

// A login storm is many opening handshakes, and net/http's parser leaves 1.5 KiB of garbage of each between what players keep.
// So a request as clients send it is parsed here, in place, and anything else by net/http. A fuzz test looks for requests that
// are accepted here and mean something else to net/http.

const usualPath = "GET /websocket HTTP/1.1\r\n"

// parseUsual parses a request header for a player's WebSocket as clients write it: one line for each header that matters, no
// body, nothing doubtful. It returns its length and the Sec-WebSocket-Key, or 0 for any other header or a part of one.
func parseUsual(read []byte) (used int, key []byte) {
	rest, ok := bytes.CutPrefix(read, []byte(usualPath))
	if !ok {
		return 0, nil
	}
	var host, upgrade, connection, version bool
	for {
		line, after, ok := bytes.Cut(rest, []byte("\r\n"))
		if !ok {
			return 0, nil
		}
		rest = after
		if len(line) == 0 {
			break
		}
		name, value, ok := bytes.Cut(line, []byte(": "))
		if !ok || !isUsual(name, value) {
			return 0, nil
		}
		twice := false
		switch {
		case is(name, "host"):
			twice, host = host, isHost(value)
			ok = host
		case is(name, "upgrade"):
			twice, upgrade = upgrade, is(value, "websocket")
			ok = upgrade
		case is(name, "connection"):
			twice, connection = connection, is(value, "upgrade") || is(value, "keep-alive, upgrade")
			ok = connection
		case is(name, "sec-websocket-version"):
			twice, version = version, is(value, "13")
			ok = version
		case is(name, "sec-websocket-key"):
			twice, key = key != nil, value
			ok = isKey(value)
		case is(name, "content-length"), is(name, "transfer-encoding"), is(name, "trailer"):
			ok = false
		}
		if !ok || twice {
			return 0, nil
		}
	}
	if !host || !upgrade || !connection || !version || key == nil {
		return 0, nil
	}
	return len(read) - len(rest), key
}

// is compares without regard to case. Lower is in lower case.
func is(b []byte, lower string) bool {
	return len(b) == len(lower) && bytes.EqualFold(b, []byte(lower))
}

// isUsual reports whether a name has letters, digits and hyphens, and a value printable ASCII.
func isUsual(name, value []byte) bool {
	for _, c := range name {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	for _, c := range value {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return len(name) > 0
}

// isHost reports whether a value is a name or an address, perhaps with a port.
func isHost(value []byte) bool {
	for _, c := range value {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && bytes.IndexByte([]byte("-.:[]"), c) < 0 {
			return false
		}
	}
	return len(value) > 0
}
