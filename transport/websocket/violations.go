package websocket

import (
	"troupe/messages"
	"troupe/transport/internal/rfc6455"
)

// Protocol violations that a header alone does not show.
var (
	errNoMessage     = rfc6455.Breach(messages.CloseProtocolError, "continuation of nothing")
	errInMessage     = rfc6455.Breach(messages.CloseProtocolError, "new message inside a fragmented one")
	errTooBig        = rfc6455.Breach(messages.CloseMessageTooBig, "message over the limit")
	errTooManyFrames = rfc6455.Breach(messages.CloseMessageTooBig, "message in too many frames")
	errCloseLength   = rfc6455.Breach(messages.CloseProtocolError, "close frame with half a code")
	errCloseCode     = rfc6455.Breach(messages.CloseProtocolError, "close code that may not be sent")
	errCloseText     = rfc6455.Breach(messages.CloseInvalidText, "close reason is not UTF-8")
	errText          = rfc6455.Breach(messages.CloseUnsupported, "text message") // D-102
)
