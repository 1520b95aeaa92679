package awswiretest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Access keys of tests. Requests with TokenKey also need Token.
const (
	Key      = "AKIDEXAMPLE"
	TokenKey = "AKIDTOKEN"
	Secret   = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	Token    = "the/session+token="
	Region   = "us-east-1"
)

// Signing describes how AWS's own code signs a request.
type Signing struct {
	Key, Secret, Token string
	Region, Service    string
	At                 time.Time
	Payload            string // if set, it replaces the hash of the body
}

// SignedBy returns a valid Signing with a key and the current time.
func SignedBy(key string) Signing {
	return Signing{Key: key, Secret: Secret, Region: Region, Service: "gamelift", At: time.Now()}
}

// Sign adds the signature headers to a request.
func (s Signing) Sign(r *http.Request, body []byte) {
	hash := s.Payload
	if hash == "" {
		hash = HashOf(body)
	}
	err := v4.NewSigner().SignHTTP(context.Background(), aws.Credentials{AccessKeyID: s.Key, SecretAccessKey: s.Secret, SessionToken: s.Token},
		r, hash, s.Service, s.Region, s.At)
	if err != nil {
		panic(err) // the test's request is invalid
	}
}

// HashOf returns the SHA-256 of a body as hexadecimal digits.
func HashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
