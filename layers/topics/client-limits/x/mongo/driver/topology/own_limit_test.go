package topology

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// localFailure is an error of the client's own machine, and why it has its cause.
type localFailure struct {
	err  error
	want cause
	why  string
}

// TestLocalErrorAndPool is about what becomes of the server and its pool after each kind of these errors that package net returns, none of
// which is an overload. The client's own limit does not clear the pool.
func TestLocalErrorAndPool(t *testing.T) {
	lookup := func(text string) error {
		return opError("dial", &net.DNSError{Err: text, Name: "a", IsTemporary: true})
	}
	all := map[string]localFailure{
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

		"no such family":    {dialling("socket", syscall.EAFNOSUPPORT), noOverload, "the system has no IPv6"},
		"no such protocol":  {dialling("socket", syscall.EPROTONOSUPPORT), noOverload, "the system has no TCP"},
		"interface is down": {dialling("connect", syscall.ENETDOWN), noOverload, "no packet has left"},
		"no Unix socket":    {dialling("connect", syscall.ENOENT), noOverload, "the server is not running"},
		"no such folder":    {dialling("connect", syscall.ENOTDIR), noOverload, "the path of the socket leads through a file"},
		"endless links":     {dialling("connect", syscall.ELOOP), noOverload, "the path of the socket does"},
		"not of this kind":  {dialling("connect", syscall.EPROTOTYPE), noOverload, "the Unix socket is one for datagrams"},
	}
	for _, number := range []syscall.Errno{10041, 10043, 10044, 10046, 10047, 10050, 10091, 10093, 10106} {
		all[fmt.Sprintf("Windows %d", int(number))] = localFailure{dialling("socket", number), noOverload, "no packet has left"}
	}
	for name, tt := range all {
		cleared, err := failToEstablish(t, fmt.Errorf("wrapped: %w", tt.err), false)
		assert.Equal(t, !tt.want.own(), cleared, "%s: cleared: %s", name, tt.why)
		assert.False(t, backpressure.HasLabelInChain(err, driver.ErrSystemOverloadedError), "%s: overloaded", name)
		assert.False(t, backpressure.HasLabelInChain(err, driver.ErrRetryableError), "%s: retryable", name)
		assert.Equal(t, tt.want.own(), errors.Is(err, backpressure.ErrOwnLimit), name)
		assert.Equal(t, tt.want.own(), strings.Contains(err.Error(), "this client"), "%s: %v", name, err)
		if tt.want.own() {
			assert.Contains(t, err.Error(), string(tt.want), name)
			assert.True(t, backpressure.HasLabelInChain(err, driver.NetworkError), "%s: a network error", name)
		}
	}
}
