package topology

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/ocsp"
)

// establishment is an error of dialling, of the TLS handshake or of hello, and why it has its cause.
type establishment struct {
	err  error
	want cause
	why  string
}

func opError(op string, err error) error { return &net.OpError{Op: op, Net: "tcp", Err: err} }

// dialling returns the error of a system call as package net reports it.
func dialling(call string, errno syscall.Errno) error {
	return opError("dial", os.NewSyscallError(call, errno))
}

// establishments has every kind of error that net, crypto/tls, crypto/x509, net/url, the lookup of names and proxies return.
func establishments() map[string]establishment {
	lookup := func(text string) error {
		return opError("dial", &net.DNSError{Err: text, Name: "a", IsTemporary: true})
	}
	_, _, noPort := net.SplitHostPort("a")
	_, _, colons := net.SplitHostPort("a:b:c")
	_, _, cidr := net.ParseCIDR("a")
	_, badURL := url.Parse("socks5://a b")
	_, noNetwork := (&net.Dialer{}).DialContext(context.Background(), "tcp7", "127.0.0.1:1")
	_, noFamily := (&net.Dialer{}).DialContext(context.Background(), "tcp6", "127.0.0.1:1")
	_, noNumber := (&net.Dialer{}).DialContext(context.Background(), "tcp", "127.0.0.1:65536")
	_, noHost := (&net.Dialer{}).DialContext(context.Background(), "tcp", "127.0.0.1")
	_, mismatch := (&net.Dialer{LocalAddr: &net.UDPAddr{}}).DialContext(context.Background(), "tcp", "127.0.0.1:1")
	serverless := tls.Client(nil, &tls.Config{}).Handshake()

	all := map[string]establishment{
		"closed":              {io.EOF, perhapsOverload, "so does the limiter of connections"},
		"closed in a reply":   {io.ErrUnexpectedEOF, perhapsOverload, "a server that is short of memory may"},
		"reset":               {opError("read", syscall.ECONNRESET), perhapsOverload, "the queue of connections was full"},
		"aborted":             {opError("read", syscall.ECONNABORTED), perhapsOverload, "Windows says so of a reset"},
		"broken pipe":         {opError("write", syscall.EPIPE), perhapsOverload, "a reset before hello was written"},
		"refused":             {dialling("connect", syscall.ECONNREFUSED), perhapsOverload, "Windows does if the queue is full"},
		"queue full":          {dialling("connect", syscall.EAGAIN), perhapsOverload, "that of a Unix socket"},
		"timed out":           {dialling("connect", syscall.ETIMEDOUT), perhapsOverload, "the queue was full"},
		"host unreachable":    {dialling("connect", syscall.EHOSTUNREACH), perhapsOverload, "routers say so of a silent server"},
		"network unreachable": {dialling("connect", syscall.ENETUNREACH), perhapsOverload, "its route may be withdrawn when it is silent"},
		"dial timeout":        {opError("dial", os.ErrDeadlineExceeded), perhapsOverload, "a server that does not answer"},
		"read timeout":        {os.ErrDeadlineExceeded, perhapsOverload, "a server that does not answer"},
		"connectTimeoutMS":    {context.DeadlineExceeded, perhapsOverload, "a server that does not answer"},
		"closed by us":        {opError("read", net.ErrClosed), perhapsOverload, "perhaps because time was up"},
		"wrapped by hello": {driver.Error{Labels: []string{driver.NetworkError}, Wrapped: ConnectionError{Wrapped: io.EOF}},
			perhapsOverload, "the connection was closed in hello"},
		"request through a proxy": {&url.Error{Op: "Get", URL: "http://a", Err: io.EOF}, perhapsOverload, "the cause is inside"},

		"no files":           {dialling("socket", syscall.EMFILE), outOfFiles, "ulimit -n"},
		"no files, system":   {dialling("socket", syscall.ENFILE), outOfFiles, "the limit of all processes"},
		"no files, Windows":  {dialling("socket", 10024), outOfFiles, "WSAEMFILE"},
		"no files, lookup":   {lookup("dial udp 127.0.0.53:53: socket: " + syscall.EMFILE.Error()), outOfFiles, "a lookup needs a socket"},
		"no files, cgo":      {lookup(syscall.EMFILE.Error()), outOfFiles, "getaddrinfo needs a socket"},
		"no files, roots":    {x509.SystemRootsError{Err: &os.PathError{Op: "open", Err: syscall.EMFILE}}, outOfFiles, "certificates are files"},
		"no files, SOCKS":    {opError("socks connect", dialling("socket", syscall.EMFILE)), outOfFiles, "the proxy was not asked"},
		"no files, monitor":  {ConnectionError{Wrapped: dialling("socket", syscall.EMFILE)}, outOfFiles, "the cause is inside"},
		"no ports":           {dialling("connect", syscall.EADDRNOTAVAIL), outOfPorts, "all local ports are in use"},
		"no ports, bound":    {dialling("bind", syscall.EADDRINUSE), outOfPorts, "the local port is in use"},
		"no ports, Windows":  {dialling("connectex", 10048), outOfPorts, "WSAEADDRINUSE"},
		"no ports, Windows2": {dialling("connectex", 10049), outOfPorts, "WSAEADDRNOTAVAIL"},
		"no ports, Windows3": {dialling("connectex", 10055), outOfPorts, "WSAENOBUFS"},
		"no buffers":         {dialling("connect", syscall.ENOBUFS), outOfMemory, "of the client's kernel"},
		"no memory":          {dialling("socket", syscall.ENOMEM), outOfMemory, "of the client's kernel"},
		"not permitted":      {dialling("connect", syscall.EPERM), notAllowed, "a local firewall, or its table of connections is full"},
		"access denied":      {dialling("connect", syscall.EACCES), notAllowed, "a firewall, SELinux, or the file of a Unix socket"},
		"denied, Windows":    {dialling("connectex", 10013), notAllowed, "WSAEACCES"},
		"denied, lookup":     {lookup("write udp 10.0.0.1:53: " + syscall.EPERM.Error()), notAllowed, "a local firewall"},

		"no such family":     {dialling("socket", syscall.EAFNOSUPPORT), noOverload, "the system has no IPv6"},
		"no such protocol":   {dialling("socket", syscall.EPROTONOSUPPORT), noOverload, "the system has no TCP"},
		"interface is down":  {dialling("connect", syscall.ENETDOWN), noOverload, "no packet has left"},
		"no Unix socket":     {dialling("connect", syscall.ENOENT), noOverload, "the server is not running"},
		"cancelled":          {context.Canceled, noOverload, "the pool was closed"},
		"name not found":     {opError("dial", &net.DNSError{Err: "no such host", IsNotFound: true}), noOverload, "a failed lookup"},
		"name server silent": {opError("dial", &net.DNSError{Err: "i/o timeout", IsTimeout: true}), noOverload, "a failed lookup"},
		"name server fails":  {lookup("server misbehaving"), noOverload, "a failed lookup"},
		"no port":            {noPort, noOverload, "a malformed address"},
		"no port, dialled":   {noHost, noOverload, "a malformed address"},
		"no such port":       {noNumber, noOverload, "a malformed address"},
		"many colons":        {colons, noOverload, "a malformed address"},
		"no such network":    {noNetwork, noOverload, "the dialer has no such network"},
		"no suitable":        {noFamily, noOverload, "the address is none of the network"},
		"local address":      {mismatch, noOverload, "the dialer's own address is of another network"},
		"unparsable":         {cidr, noOverload, "a malformed address"},
		"invalid address":    {net.InvalidAddrError("a"), noOverload, "a malformed address"},
		"URL of a proxy":     {badURL, noOverload, "a malformed URL"},

		"unknown authority": {x509.UnknownAuthorityError{}, noOverload, "a certificate"},
		"another host":      {x509.HostnameError{Certificate: &x509.Certificate{}, Host: "a"}, noOverload, "a certificate"},
		"expired":           {x509.CertificateInvalidError{Cert: &x509.Certificate{}, Reason: x509.Expired}, noOverload, "a certificate"},
		"constraint":        {x509.ConstraintViolationError{}, noOverload, "a certificate"},
		"critical":          {x509.UnhandledCriticalExtension{}, noOverload, "a certificate"},
		"weak algorithm":    {x509.InsecureAlgorithmError(x509.MD5WithRSA), noOverload, "a certificate"},
		"no roots":          {x509.SystemRootsError{}, noOverload, "no certificates to verify one with"},
		"no TLS":            {tls.RecordHeaderError{Msg: "tls: first record does not look like a TLS handshake"}, noOverload, "the reply is no TLS"},
		"server's alert":    {opError("remote error", errors.New("tls: bad certificate")), noOverload, "the handshake is refused"},
		"client's alert":    {opError("local error", errors.New("tls: unexpected message")), noOverload, "the handshake is refused"},
		"TLS configuration": {serverless, noOverload, "no packet has left"},
		"no common version": {errors.New("tls: server selected unsupported protocol version 301"), noOverload, "TLS was understood"},
		"revoked":           {&ocsp.Error{}, noOverload, "a certificate"},
		"SOCKS refuses":     {opError("socks connect", errors.New("connection refused")), noOverload, "a proxy (socks5.md)"},
		"SOCKS closes":      {opError("socks connect", io.EOF), noOverload, "a proxy (socks5.md)"},
		"no SOCKS":          {opError("socks connect", dialling("connect", syscall.ECONNREFUSED)), noOverload, "a proxy (socks5.md)"},
		"no HTTP proxy":     {opError("proxyconnect", dialling("connect", syscall.ECONNREFUSED)), noOverload, "a proxy"},
		"hello refused":     {driver.Error{Code: 18, Message: "no"}, noOverload, "the server has answered"},
		"hello malformed":   {malformedHelloError{errors.New("no wire version")}, noOverload, "the server has answered"},
	}
	for _, number := range []syscall.Errno{10041, 10043, 10044, 10046, 10047, 10050, 10091, 10093, 10106} {
		all[fmt.Sprintf("Windows %d", int(number))] = establishment{dialling("socket", number), noOverload, "no packet has left"}
	}
	return all
}

// TestCauseOfEstablishmentErrors is about all of them: which get the labels of a retryable overload error, and which say that they are the
// client's own limit, and what that is.
func TestCauseOfEstablishmentErrors(t *testing.T) {
	for name, tt := range establishments() {
		tt := tt
		t.Run(name, func(t *testing.T) {
			for _, err := range []error{tt.err, fmt.Errorf("wrapped: %w", tt.err)} {
				require.Error(t, err)
				assert.Equal(t, tt.want, causeOf(err), "%v: %s", err, tt.why)
				assert.Equal(t, tt.want == perhapsOverload, labelled(err), "%v: %s", err, tt.why)
			}
		})
	}
}

// TestEstablishmentErrorAndPool is about what becomes of the server and its pool after each of these errors. Only what is neither overload
// nor the client's own limit clears the pool.
func TestEstablishmentErrorAndPool(t *testing.T) {
	for name, tt := range establishments() {
		if errors.Is(tt.err, context.Canceled) {
			continue // which only a pool that is closed meets
		}
		tt := tt
		t.Run(name, func(t *testing.T) {
			err, cleared, kind := failToEstablish(t, tt.err, nil)
			var connErr ConnectionError
			require.True(t, errors.As(err, &connErr), "got %v", err)

			assert.Equal(t, tt.want == noOverload, cleared, "cleared")
			assert.Equal(t, tt.want == noOverload, kind == description.Unknown, "unknown")
			assert.Equal(t, tt.want == perhapsOverload, backpressure.HasLabelInChain(err, driver.ErrSystemOverloadedError), "overloaded")
			assert.Equal(t, tt.want == perhapsOverload, backpressure.HasLabelInChain(err, driver.ErrRetryableError), "retryable")
			assert.Equal(t, tt.want.own(), errors.Is(err, backpressure.ErrOwnLimit))
			assert.Equal(t, tt.want.own(), strings.Contains(err.Error(), "this client"), "%v", err)
			assert.Contains(t, err.Error(), tt.err.Error())
			if tt.want.own() {
				assert.Contains(t, err.Error(), string(tt.want))
				assert.True(t, backpressure.HasLabelInChain(err, driver.NetworkError), "a network error")
			}
		})
	}
}

// TestOwnLimitInAuthentication is about credentials that are read from a file, or asked for over another connection: a client that is out of
// files learns nothing of the server either. One that may not read its credentials cannot authenticate to any.
func TestOwnLimitInAuthentication(t *testing.T) {
	for name, tt := range establishments() {
		if !tt.want.own() {
			continue
		}
		tt := tt
		t.Run(name, func(t *testing.T) {
			err, cleared, kind := failToEstablish(t, nil, fmt.Errorf("no credentials: %w", tt.err))
			own := tt.want != notAllowed
			assert.Equal(t, own, errors.Is(err, backpressure.ErrOwnLimit), "%v", err)
			assert.Equal(t, own, strings.Contains(err.Error(), string(tt.want)), "%v", err)
			assert.Equal(t, !own, cleared, "cleared")
			assert.Equal(t, !own, kind == description.Unknown, "unknown")
			assert.False(t, backpressure.HasLabelInChain(err, driver.ErrSystemOverloadedError))
		})
	}
}

// failToEstablish lets a known primary with a ready pool fail to open a connection, or to authenticate. It returns the error, and whether the
// pool was cleared, and what the server is afterwards.
func failToEstablish(t *testing.T, dialErr, authErr error) (err error, cleared bool, kind description.ServerKind) {
	done := make(chan struct{})
	monitor := &event.PoolMonitor{Event: func(e *event.PoolEvent) {
		switch e.Type {
		case event.ConnectionPoolCleared:
			cleared = true
		case event.ConnectionClosed: // once the error was handled
			close(done)
		}
	}}
	dialer := DialerFunc(func(context.Context, string, string) (net.Conn, error) { return &net.TCPConn{}, dialErr })
	known := description.Server{Addr: "localhost:27017", Kind: description.ServerKindRSPrimary}
	handshaker := &testHandshaker{
		getHandshakeInformation: func(context.Context, address.Address, *mnet.Connection) (driver.HandshakeInformation, error) {
			return driver.HandshakeInformation{Description: known}, nil
		},
		finishHandshake: func(context.Context, *mnet.Connection) error { return authErr },
	}
	server := NewServer(address.Address("localhost:27017"), bson.NewObjectID(), defaultConnectionTimeout,
		withMonitoringDisabled(func(bool) bool { return true }),
		WithConnectionPoolMonitor(func(*event.PoolMonitor) *event.PoolMonitor { return monitor }),
		WithConnectionOptions(func(...ConnectionOption) []ConnectionOption {
			return []ConnectionOption{
				WithDialer(func(Dialer) Dialer { return dialer }), WithHandshaker(func(Handshaker) Handshaker { return handshaker }),
			}
		}),
	)
	require.NoError(t, server.Connect(nil))
	server.updateDescription(known)
	require.NoError(t, server.pool.ready())

	_, err = server.Connection(context.Background())
	<-done
	kind = server.Description().Kind
	require.NoError(t, server.Disconnect(context.Background()))
	return err, cleared, kind
}

// TestMonitorNamesTheClientsLimit is about a check that finds no file left: the server's error says so.
func TestMonitorNamesTheClientsLimit(t *testing.T) {
	conn := newConnection("a:27017", WithDialer(func(Dialer) Dialer {
		return DialerFunc(func(context.Context, string, string) (net.Conn, error) {
			return nil, dialling("socket", syscall.EMFILE)
		})
	}))
	assert.Contains(t, conn.connect(context.Background()).Error(), "(see ulimit -n): dial tcp: socket: too many open files")
}
