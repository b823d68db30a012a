package scripted

import (
	"crypto/tls"
	"net/http/httptest"
	"testing"
)

// SelfSigned returns a certificate that nobody trusts.
func SelfSigned(t *testing.T) tls.Certificate {
	t.Helper()

	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	return server.TLS.Certificates[0]
}
