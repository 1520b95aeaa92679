package events

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

type webhook struct {
	o      SinkOptions
	origin origin
	client *http.Client
	pool   *http.Transport
}

const answerMax = 64 << 10 // maximum bytes of a response that are read, so that its connection can be reused

func newWebhook(o SinkOptions, from origin, dial func(ctx context.Context, network, address string) (net.Conn, error)) *webhook {
	if dial == nil {
		dial = (&net.Dialer{Timeout: attemptTimeout}).DialContext
	}
	pool := &http.Transport{
		DialContext:         dial,
		TLSHandshakeTimeout: attemptTimeout, MaxIdleConnsPerHost: width, MaxConnsPerHost: width, IdleConnTimeout: time.Minute,
		MaxResponseHeaderBytes: answerMax, ForceAttemptHTTP2: true,
	}
	return &webhook{o: o, origin: from, pool: pool, client: &http.Client{
		Transport:     pool,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (w *webhook) close() { w.pool.CloseIdleConnections() }

// notification is an event in the format of an SNS message. It is signed with X-Signature-256 only.
type notification struct {
	Type             string
	MessageID        string `json:"MessageId"`
	TopicARN         string `json:"TopicArn"`
	Message          string
	Timestamp        string
	SignatureVersion string
	Signature        string
	SigningCertURL   string
	UnsubscribeURL   string
}

// request returns the POST request for an event. It is the same for every attempt.
func (w *webhook) request(ctx context.Context, i *item) (*http.Request, error) {
	body, header := w.origin.render(&i.event), make(http.Header)
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", "troupe")
	if w.o.Type == TypeSNS {
		id, topic := publicID(&i.event), i.event.Target
		if topic == "" { // the sink gets events without a target
			topic = i.event.ARN
		}
		body = encode(notification{
			Type: "Notification", MessageID: id, TopicARN: topic, Message: string(body),
			Timestamp: timestamp(i.event.Time), SignatureVersion: "1",
		})
		header.Set("Content-Type", "text/plain; charset=UTF-8")
		header.Set("X-Amz-Sns-Message-Type", "Notification")
		header.Set("X-Amz-Sns-Message-Id", id)
		header.Set("X-Amz-Sns-Topic-Arn", topic)
	}
	if w.o.Secret != "" {
		mac := hmac.New(sha256.New, []byte(w.o.Secret))
		mac.Write(body)
		header.Set("X-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.o.URL, bytes.NewReader(body))
	if err == nil {
		r.Header = header
	}
	return r, err
}

// deliver posts an event. A 2xx response is a success. A 4xx response is a refusal, except 408 and 429.
func (w *webhook) deliver(ctx context.Context, i *item) error {
	r, err := w.request(ctx, i)
	if err != nil {
		return refusal{err}
	}
	answer, err := w.client.Do(r)
	if err != nil {
		var named *url.Error // its text contains the URL, which may contain secrets
		if errors.As(err, &named) {
			err = named.Err
		}
		return err
	}
	_, _ = io.CopyN(io.Discard, answer.Body, answerMax)
	answer.Body.Close()
	code := answer.StatusCode
	if code/100 == 2 {
		return nil
	}
	err = fmt.Errorf("answered %d", code)
	if code/100 == 4 && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests {
		err = refusal{err}
	}
	return err
}
