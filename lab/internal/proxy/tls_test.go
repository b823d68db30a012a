package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// certificate is one that a server shows, and a client that trusts nothing else.
type certificate struct{ server, client *tls.Config }

func selfSigned(t testing.TB) certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return certificate{
		server: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
		client: &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"},
	}
}

func (c *conversation) encrypt(config *tls.Config) *conversation {
	return &conversation{tls.Client(c.Conn, config), c.codec}
}

func TestTLSOnEitherSide(t *testing.T) {
	front, backend := selfSigned(t), selfSigned(t)
	for name, tt := range map[string]struct{ front, backend bool }{
		"front": {front: true}, "backend": {backend: true}, "both": {front: true, backend: true},
	} {
		t.Run(name, func(t *testing.T) {
			config := Config{}
			listener := listen(t)
			if tt.backend {
				listener = tls.NewListener(listener, backend.server)
			}
			server := startServer(t, listener, answering(echo))
			config.Backend = Backend{Network: "tcp", Address: server.address}
			if tt.backend {
				config.Backend.TLS = backend.client
			}
			if tt.front {
				config.TLS = front.server
			}
			lab := startFront(t, config, answering(echo))
			client := lab.dial(t)
			if tt.front {
				client = client.encrypt(front.client)
			}
			client.send(t, ping(t, 7))
			assert.Equal(t, int32(7), client.receive(t).ResponseTo)
		})
	}
}

func TestTLSThatFails(t *testing.T) {
	ours, other := selfSigned(t), selfSigned(t)
	t.Run("plain client", func(t *testing.T) {
		front := startFront(t, Config{TLS: ours.server}, answering(echo))
		client := front.dial(t)
		client.send(t, ping(t, 1))
		client.expectEnd(t)
		lines := front.lines()
		require.Len(t, lines, 1)
		assert.Contains(t, lines[0], "does not look like a TLS handshake")
	})
	t.Run("backend that is not trusted", func(t *testing.T) {
		server := startServer(t, tls.NewListener(listen(t), other.server), answering(echo))
		front := startFront(t, Config{Backend: Backend{Network: "tcp", Address: server.address, TLS: ours.client}}, answering(echo))
		client := front.dial(t)
		client.send(t, ping(t, 1))
		client.expectEnd(t)
		lines := front.lines()
		require.Len(t, lines, 1)
		assert.Contains(t, lines[0], "certificate")
	})
}
