package websocket

import "bytes"

// In a login storm there are many opening handshakes, and net/http's parser leaves 1.5 KiB of garbage for each of them.
// So a request in the form that clients send is parsed here, in place. Any other request is parsed by net/http. A fuzz
// test searches for requests that are accepted here but mean something else to net/http.

const usualPath = "GET /websocket HTTP/1.1\r\n"

// parseUsual parses the request header of a player's WebSocket in the form that clients write. Each relevant header
// has one line, there is no body, and nothing is ambiguous. It returns the header's length and the
// Sec-WebSocket-Key, or 0 for any other or incomplete header.
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

// is reports whether b equals lower, ignoring case. lower is in lower case.
func is(b []byte, lower string) bool {
	return len(b) == len(lower) && bytes.EqualFold(b, []byte(lower))
}

// isUsual reports whether a name has only letters, digits and hyphens, and a value only printable ASCII.
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

// isHost reports whether a value is a host name or an IP address, optionally with a port.
func isHost(value []byte) bool {
	for _, c := range value {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && bytes.IndexByte([]byte("-.:[]"), c) < 0 {
			return false
		}
	}
	return len(value) > 0
}
