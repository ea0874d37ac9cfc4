package wire

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"pawl/run"
)

// serverClosedIdle is the text of an error that net/http does not export: the
// server closed the connection before the request was written (transport.go of Go 1.26).
const serverClosedIdle = "http: server closed idle connection"

// spokeFirst is in the error text if the server sends something before it has read the request, as an SSH
// server does (transport.go of Go 1.26).
const spokeFirst = "readLoopPeekFailLocked: %!w(<nil>)"

// networkError returns the kind and the cause of a request that got no response.
// A failed connection may succeed later; a certificate or a protocol that does not
// match will not.
func networkError(err error) (kind run.ErrorKind, cause string) {
	var (
		dns         *net.DNSError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		alert       tls.AlertError
		op          *net.OpError
		timeout     interface{ Timeout() bool }
	)
	switch {
	case errors.As(err, &certificate):
		return run.ErrInvalid, fmt.Sprintf("the certificate was not accepted: %v", certificate.Err)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return run.ErrInvalid, "the server does not speak TLS: should the address begin with http://?"
	case strings.Contains(err.Error(), "malformed HTTP "), strings.Contains(err.Error(), spokeFirst):
		return run.ErrInvalid, "the server does not speak HTTP: is that the right port?"
	case errors.As(err, &alert):
		return run.ErrUnreachable, fmt.Sprintf("the TLS handshake failed: %v", alert)
	case errors.As(err, &dns) && dns.IsNotFound:
		return run.ErrUnreachable, "no such host: " + dns.Name
	case errors.As(err, &dns):
		return run.ErrUnreachable, fmt.Sprintf("the name %s was not resolved: %s", dns.Name, dns.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return run.ErrUnreachable, "connection refused (is a server running there?)"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return run.ErrUnreachable, "no route to the host"
	case errors.As(err, &timeout) && timeout.Timeout():
		return run.ErrUnreachable, "connection timed out"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		strings.HasSuffix(err.Error(), serverClosedIdle):
		return run.ErrUnreachable, "the connection was closed before a response came"
	case errors.As(err, &op) && op.Err != nil:
		return run.ErrUnreachable, op.Err.Error() // without the addresses
	}
	return run.ErrUnreachable, err.Error()
}

// withoutURL returns the cause of a client's error, without the method and the
// address, which may contain credentials.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
