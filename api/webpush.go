package api

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"pawl/permission/network"
)

// PushKeys are what a browser has a message encrypted with, in base64url without padding.
type PushKeys struct {
	P256DH string `json:"p256dh" maxLength:"200" doc:"The public key of the browser: a point of P-256, not compressed"`
	Auth   string `json:"auth" maxLength:"100" doc:"The authentication secret, 16 bytes"`
}

// decode returns the public key of the browser and its authentication secret.
func (k PushKeys) decode() (*ecdh.PublicKey, []byte, error) {
	auth, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(k.Auth, "="))
	if err != nil || len(auth) != 16 {
		return nil, nil, invalid("keys.auth", "must be 16 bytes in base64url")
	}
	point, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(k.P256DH, "="))
	if err != nil {
		return nil, nil, invalid("keys.p256dh", "must be base64url")
	}
	key, err := ecdh.P256().NewPublicKey(point)
	if err != nil {
		return nil, nil, invalid("keys.p256dh", "must be a point of P-256, not compressed")
	}
	return key, auth, nil
}

// recordSize is the largest message with its overhead, in bytes. Push services have to take 4096 (RFC 8030, section 7.2).
const recordSize = 4096

// seal encrypts a message for a browser: RFC 8291, with the encoding aes128gcm of RFC 8188. sender and salt must be new for
// each message.
func seal(message []byte, receiver *ecdh.PublicKey, auth []byte, sender *ecdh.PrivateKey, salt []byte) ([]byte, error) {
	shared, err := sender.ECDH(receiver)
	if err != nil {
		return nil, err
	}
	public := sender.PublicKey().Bytes()
	derive := func(secret, salt []byte, info string, length int) (key []byte) {
		if err == nil {
			key, err = hkdf.Key(sha256.New, secret, salt, info, length)
		}
		return key
	}
	secret := derive(shared, auth, "WebPush: info\x00"+string(receiver.Bytes())+string(public), 32)
	key := derive(secret, salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce := derive(secret, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	head := append(bytes.Clone(salt), 0, 0, recordSize>>8, recordSize&0xff, byte(len(public)))
	return gcm.Seal(append(head, public...), nonce, append(bytes.Clone(message), 2), nil), nil // 2: the last record
}

// A vapidKey tells push services who sends (RFC 8292): a browser takes messages of the server alone that it has subscribed to.
type vapidKey struct{ private *ecdsa.PrivateKey }

// parseVAPIDKey returns the key with a private scalar in base64url.
func parseVAPIDKey(text string) (vapidKey, error) {
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return vapidKey{}, err
	}
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), b)
	return vapidKey{private}, err
}

// public returns the public key in base64url: what a page calls applicationServerKey.
func (k vapidKey) public() string {
	b, err := k.private.PublicKey.Bytes()
	if err != nil {
		panic(err) // it is a point of P-256
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// authorization returns the header for a push service, until some time. contact is a URI by which its people reach whoever
// runs the server.
func (k vapidKey) authorization(service, contact string, until time.Time) (string, error) {
	claims, err := json.Marshal(map[string]any{"aud": service, "exp": until.Unix(), "sub": contact})
	if err != nil {
		return "", err
	}
	token := base64.RawURLEncoding.EncodeToString([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(token))
	r, s, err := ecdsa.Sign(rand.Reader, k.private, sum[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return "vapid t=" + token + "." + base64.RawURLEncoding.EncodeToString(signature) + ", k=" + k.public(), nil
}

// pushEndpoint returns the address of a push service that a browser has named. A name may lead anywhere: the client of
// [pushClient] looks at the address that it dials.
func pushEndpoint(endpoint string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "":
		return nil, invalid("endpoint", "must be the https address of a push service")
	case u.Port() != "" && u.Port() != "443":
		return nil, invalid("endpoint", "must be at the usual port of https")
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && network.Special(a) != "" {
		return nil, invalid("endpoint", "is at "+network.Special(a)+": push services are on the public Internet")
	}
	return u, nil
}

// pushClient returns a client that connects to addresses of the public Internet alone, and follows no redirect. It uses no
// proxy, behind which it would not see what is dialled.
func pushClient() *http.Client {
	dialer := &net.Dialer{Timeout: pushTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if what := network.Special(a.Addr()); what != "" {
			return fmt.Errorf("the push service is at %s (%s)", a.Addr(), what)
		}
		return nil
	}}
	return &http.Client{
		Timeout:       pushTimeout,
		Transport:     &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute, MaxIdleConns: 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

const (
	pushTimeout = 10 * time.Second
	pushLife    = 24 * time.Hour // how long a push service keeps a message for a device that is away
)

// post sends a message to a browser and returns the status that its push service answers with.
func (k vapidKey) post(ctx context.Context, client *http.Client, contact string, to Subscription, message []byte) (int, error) {
	u, err := pushEndpoint(to.Endpoint)
	if err != nil {
		return 0, err
	}
	receiver, auth, err := to.Keys.decode()
	if err != nil {
		return 0, err
	}
	sender, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return 0, err
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // it does not fail
	body, err := seal(message, receiver, auth, sender, salt)
	if err != nil {
		return 0, err
	}
	authorization, err := k.authorization(u.Scheme+"://"+u.Host, contact, time.Now().Add(pushLife/2)) // at most a day
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	for name, value := range map[string]string{
		"Authorization": authorization, "Content-Encoding": "aes128gcm", "Content-Type": "application/octet-stream",
		"TTL": fmt.Sprint(int(pushLife.Seconds())), "Urgency": "high", "Topic": "pawl", // a message replaces the one before it
	} {
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close() // nothing that it says is read
}
