package topology

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/ocsp"
)

func opError(op string, err error) error { return &net.OpError{Op: op, Net: "tcp", Err: err} }

// dialling returns the error of a system call as package net reports it.
func dialling(call string, errno syscall.Errno) error {
	return opError("dial", os.NewSyscallError(call, errno))
}

// TestEstablishmentErrorAndPool is about what becomes of the server and its pool after an error of dialling, of the TLS handshake or of
// hello: every kind that net, crypto/tls, crypto/x509, net/url, the lookup of names and proxies return. Only what is no overload clears the
// pool, unless that is of a load balancer.
func TestEstablishmentErrorAndPool(t *testing.T) {
	_, _, noPort := net.SplitHostPort("a")
	_, _, cidr := net.ParseCIDR("a")
	_, badURL := url.ParseRequestURI("socks5://a b")
	_, noNetwork := (&net.Dialer{}).DialContext(context.Background(), "tcp7", "127.0.0.1:1")
	_, noFamily := (&net.Dialer{}).DialContext(context.Background(), "tcp6", "127.0.0.1:1")
	_, mismatch := (&net.Dialer{LocalAddr: &net.UDPAddr{}}).DialContext(context.Background(), "tcp", "127.0.0.1:1")
	serverless := tls.Client(nil, &tls.Config{}).Handshake()

	for name, tt := range map[string]struct {
		err  error
		want bool // whether an overload of the server may be its cause
		why  string
	}{
		"closed":              {io.EOF, true, "so does the limiter of connections"},
		"closed in a reply":   {io.ErrUnexpectedEOF, true, "a server that is short of memory may"},
		"reset":               {opError("read", syscall.ECONNRESET), true, "the queue of connections was full"},
		"aborted":             {opError("read", syscall.ECONNABORTED), true, "Windows says so of a reset"},
		"broken pipe":         {opError("write", syscall.EPIPE), true, "a reset before hello was written"},
		"refused":             {dialling("connect", syscall.ECONNREFUSED), true, "Windows does if the queue is full"},
		"queue full":          {dialling("connect", syscall.EAGAIN), true, "that of a Unix socket"},
		"timed out":           {dialling("connect", syscall.ETIMEDOUT), true, "the queue was full"},
		"host unreachable":    {dialling("connect", syscall.EHOSTUNREACH), true, "routers say so of a silent server"},
		"network unreachable": {dialling("connect", syscall.ENETUNREACH), true, "its route may be withdrawn when it is silent"},
		"dial timeout":        {opError("dial", os.ErrDeadlineExceeded), true, "a server that does not answer"},
		"read timeout":        {os.ErrDeadlineExceeded, true, "a server that does not answer"},
		"connectTimeoutMS":    {context.DeadlineExceeded, true, "a server that does not answer"},
		"closed by us":        {opError("read", net.ErrClosed), true, "perhaps because time was up"},
		"wrapped by hello": {driver.Error{Labels: []string{driver.NetworkError}, Wrapped: ConnectionError{Wrapped: io.EOF}},
			true, "the connection was closed in hello"},
		"request through a proxy": {&url.Error{Op: "Get", URL: "http://a", Err: io.EOF}, true, "the cause is inside"},

		"name not found":     {opError("dial", &net.DNSError{Err: "no such host", IsNotFound: true}), false, "a failed lookup"},
		"name server silent": {opError("dial", &net.DNSError{Err: "i/o timeout", IsTimeout: true}), false, "a failed lookup"},
		"no port":            {noPort, false, "a malformed address"},
		"no such network":    {noNetwork, false, "the dialer has no such network"},
		"no suitable":        {noFamily, false, "the address is none of the network"},
		"local address":      {mismatch, false, "the dialer's own address is of another network"},
		"unparsable":         {cidr, false, "a malformed address"},
		"invalid address":    {net.InvalidAddrError("a"), false, "a malformed address"},
		"URL of a proxy":     {badURL, false, "a malformed URL"},

		"unknown authority": {x509.UnknownAuthorityError{}, false, "a certificate"},
		"another host":      {x509.HostnameError{Certificate: &x509.Certificate{}, Host: "a"}, false, "a certificate"},
		"expired":           {x509.CertificateInvalidError{Cert: &x509.Certificate{}, Reason: x509.Expired}, false, "a certificate"},
		"constraint":        {x509.ConstraintViolationError{}, false, "a certificate"},
		"critical":          {x509.UnhandledCriticalExtension{}, false, "a certificate"},
		"weak algorithm":    {x509.InsecureAlgorithmError(x509.MD5WithRSA), false, "a certificate"},
		"no roots":          {x509.SystemRootsError{}, false, "no certificates to verify one with"},
		"no TLS":            {tls.RecordHeaderError{Msg: "tls: first record does not look like a TLS handshake"}, false, "the reply is no TLS"},
		"server's alert":    {opError("remote error", errors.New("tls: bad certificate")), false, "the handshake is refused"},
		"client's alert":    {opError("local error", errors.New("tls: unexpected message")), false, "the handshake is refused"},
		"TLS configuration": {serverless, false, "no packet has left"},
		"no common version": {errors.New("tls: server selected unsupported protocol version 301"), false, "TLS was understood"},
		"revoked":           {&ocsp.Error{}, false, "a certificate"},
		"SOCKS refuses":     {opError("socks connect", errors.New("connection refused")), false, "a proxy (socks5.md)"},
		"SOCKS closes":      {opError("socks connect", io.EOF), false, "a proxy (socks5.md)"},
		"no SOCKS":          {opError("socks connect", dialling("connect", syscall.ECONNREFUSED)), false, "a proxy (socks5.md)"},
		"no HTTP proxy":     {opError("proxyconnect", dialling("connect", syscall.ECONNREFUSED)), false, "a proxy"},
		"hello refused":     {driver.Error{Code: 18, Message: "no"}, false, "the server has answered"},
		"hello malformed":   {answeredError{}, false, "the server has answered"},
	} {
		for _, loadBalanced := range []bool{false, true} {
			cleared, err := failToEstablish(t, tt.err, loadBalanced)
			assert.Equal(t, !tt.want && !loadBalanced, cleared, "%s: cleared: %s", name, tt.why)
			assert.Equal(t, tt.want, backpressure.HasLabelInChain(err, driver.ErrSystemOverloadedError), "%s: overloaded: %s", name, tt.why)
			assert.Equal(t, tt.want, backpressure.HasLabelInChain(err, driver.ErrRetryableError), "%s: retryable", name)
			assert.False(t, errors.Is(err, backpressure.ErrOwnLimit), name)
		}
	}
	assert.True(t, cannotBeOverload(ConnectionError{Wrapped: context.Canceled}), "the pool was closed")
}

// answeredError is the error of a hello that a server has answered, though it cannot be read.
type answeredError struct{}

func (answeredError) Error() string   { return "malformed" }
func (answeredError) serverAnswered() {}

// failToEstablish lets a known primary, or a load balancer, fail to open a connection. It returns whether the pool was cleared, and with it
// the server forgotten, and the error, which has the given one.
func failToEstablish(t *testing.T, dialErr error, loadBalanced bool) (cleared bool, err error) {
	done, failed := make(chan struct{}), 0
	monitor := &event.PoolMonitor{Event: func(e *event.PoolEvent) {
		switch e.Type {
		case event.ConnectionPoolCleared:
			cleared = true
		case event.ConnectionCheckOutFailed:
			failed++
		case event.ConnectionClosed: // once the error was handled
			close(done)
		}
	}}
	dial := DialerFunc(func(context.Context, string, string) (net.Conn, error) { return &net.TCPConn{}, dialErr })
	server := NewServer("localhost:27017", bson.NewObjectID(), defaultConnectionTimeout,
		withMonitoringDisabled(func(bool) bool { return !loadBalanced }),
		WithServerLoadBalanced(func(bool) bool { return loadBalanced }),
		WithConnectionPoolMonitor(func(*event.PoolMonitor) *event.PoolMonitor { return monitor }),
		WithConnectionOptions(func(...ConnectionOption) []ConnectionOption {
			return []ConnectionOption{WithDialer(func(Dialer) Dialer { return dial })}
		}),
	)
	require.NoError(t, server.Connect(nil))
	require.Equal(t, poolReady, server.pool.getState(), "nothing monitors the server")
	if !loadBalanced { // which is known from the start
		server.updateDescription(description.Server{Addr: server.address, Kind: description.ServerKindRSPrimary})
	}
	_, err = server.Connection(context.Background())
	<-done
	assert.Equal(t, cleared, server.Description().Kind == description.Unknown, "unknown")
	require.NoError(t, server.Disconnect(context.Background()))
	failure := scripted.As[ConnectionError](t, err)
	assert.Contains(t, failure.Error(), dialErr.Error())
	assert.Equal(t, server.address, failure.ServerAddress())
	assert.Equal(t, []int64{1, 0}, []int64{int64(failed), server.OperationCount()})
	return cleared, err
}

// labeler is what package driver asks of such errors.
type labeler interface {
	error
	ForWrite() error
	HasErrorLabel(string) bool
}

// TestRetryableWriteLabel is about errors of a check-out that get the label: they stay of their type, with the same text.
func TestRetryableWriteLabel(t *testing.T) {
	for _, err := range []labeler{ConnectionError{Wrapped: io.EOF}, poolClearedError{err: io.EOF, address: "a"}} {
		labeled := err.ForWrite()
		assert.IsType(t, err, labeled)
		assert.Equal(t, err.Error(), labeled.Error())
		for _, label := range []string{driver.RetryableWriteError, driver.TransientTransactionError} {
			assert.False(t, err.HasErrorLabel(label))
			assert.Equal(t, label == driver.RetryableWriteError, labeled.(labeler).HasErrorLabel(label))
		}
	}
}

var errRejected = driver.Error{
	Code: 462, Name: "IngressRequestRateLimitExceeded", Labels: []string{driver.ErrSystemOverloadedError, driver.ErrRetryableError},
}
