package tlsconf

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

const (
	blockCertificate = "CERTIFICATE"
	blockKey         = "PRIVATE KEY" // PKCS #8
)

// pemFile has the certificates and the private key of a PEM file.
type pemFile struct {
	certs []*x509.Certificate
	key   crypto.Signer // nil if the file has no key
}

// parsePEM parses certificates and at most one private key. It ignores text around the blocks, and blocks of
// other types, because tools write both. A block that is truncated or invalid is an error.
func parsePEM(text []byte) (f pemFile, err error) {
	blocks, begins := 0, bytes.Count(text, []byte("-----BEGIN "))
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		blocks++
		if err := f.add(block); err != nil {
			return pemFile{}, fmt.Errorf("PEM block %d: %w", blocks, err)
		}
	}
	if blocks != begins { // pem.Decode skips blocks that it cannot parse
		return pemFile{}, fmt.Errorf("%d of %d PEM blocks are damaged", begins-blocks, begins)
	}
	return f, nil
}

func (f *pemFile) add(block *pem.Block) error {
	switch block.Type {
	case blockCertificate:
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return err
		}
		f.certs = append(f.certs, cert)
	case blockKey, "EC PRIVATE KEY", "RSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY":
		switch {
		case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
			return errors.New("the private key is encrypted, and nobody is there to type its password")
		case f.key != nil:
			return errors.New("a second private key")
		}
		key, err := parseKey(block)
		if err != nil {
			return err
		}
		signer, ok := key.(crypto.Signer)
		if !ok {
			return fmt.Errorf("a private key of type %T cannot sign", key)
		}
		f.key = signer
	}
	return nil
}

func parseKey(block *pem.Block) (any, error) {
	switch block.Type {
	case "EC PRIVATE KEY":
		return x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		return x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	return x509.ParsePKCS8PrivateKey(block.Bytes)
}

// belongs reports whether key is the private key of cert.
func belongs(key crypto.Signer, cert *x509.Certificate) bool {
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(cert.PublicKey)
}
