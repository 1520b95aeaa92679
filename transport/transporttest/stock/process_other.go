//go:build !linux

package stock

import "errors"

const canRunDTLS = false

func dialDTLS(<-chan struct{}, DTLS, dtlsTarget) (secureConn, error) {
	_, reason := HasOpenSSL()
	return nil, errors.New(reason)
}
