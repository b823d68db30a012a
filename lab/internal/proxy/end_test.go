package proxy

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type acceptFunc func(context.Context, net.Conn) error

func (f acceptFunc) Accept(ctx context.Context, conn net.Conn) error { return f(ctx, conn) }

type handleFunc func(context.Context, *Request, ReplyFunc, Next) error

func (f handleFunc) Handle(ctx context.Context, req *Request, reply ReplyFunc, next Next) error {
	return f(ctx, req, reply, next)
}

// expectReset waits for the other side to reset the connection.
func (c *conversation) expectReset(t testing.TB) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	_, err := c.Read(make([]byte, 1))
	assert.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestAcceptors(t *testing.T) {
	for name, tt := range map[string]struct {
		err error
		end func(*conversation, testing.TB)
		log int
	}{
		"close": {ErrClose, (*conversation).expectEnd, 0},
		"reset": {ErrReset, (*conversation).expectReset, 0},
		"error": {errors.New("no room"), (*conversation).expectEnd, 1},
	} {
		t.Run(name, func(t *testing.T) {
			connected, order := make(chan struct{}), make(chan string, 3)
			acceptor := func(name string, err error) Acceptor {
				return acceptFunc(func(context.Context, net.Conn) error {
					<-connected // a connection that is reset at once may fail to be made
					order <- name
					return err
				})
			}
			config := Config{Acceptors: []Acceptor{acceptor("first", nil), acceptor("second", tt.err), acceptor("third", nil)}}
			front := startFront(t, config, answering(echo))
			client := front.dial(t)
			close(connected)
			tt.end(client, t)
			assert.Equal(t, []string{"first", "second"}, []string{<-order, <-order})
			assert.Empty(t, order)
			assert.Len(t, front.lines(), tt.log)
		})
	}
}

func TestAcceptorThatWaitsHoldsUpItsConnectionOnly(t *testing.T) {
	accepted, release := make(chan struct{}), make(chan struct{})
	var connections atomic.Int32
	front := startFront(t, Config{Acceptors: []Acceptor{acceptFunc(func(ctx context.Context, _ net.Conn) error {
		if connections.Add(1) > 1 {
			return nil
		}
		close(accepted)
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	})}}, answering(echo))
	slow := front.dial(t)
	slow.send(t, ping(t, 1))
	<-accepted
	quick := front.dial(t)
	quick.send(t, ping(t, 2))
	quick.receive(t)
	close(release)
	slow.receive(t)
}

func TestServeEndsWhileAnAcceptorWaits(t *testing.T) {
	accepted := make(chan struct{})
	front := startFront(t, Config{Acceptors: []Acceptor{acceptFunc(func(ctx context.Context, _ net.Conn) error {
		close(accepted)
		<-ctx.Done()
		return nil
	})}}, answering(echo))
	client := front.dial(t)
	<-accepted
	front.stop()
	client.expectEnd(t)
	assert.Empty(t, front.lines())
}

func TestHandlerResets(t *testing.T) {
	certificate := selfSigned(t)
	for name, config := range map[string]Config{"plain": {}, "TLS": {TLS: certificate.server}} {
		t.Run(name, func(t *testing.T) {
			config.Handlers = []Handler{handleFunc(func(context.Context, *Request, ReplyFunc, Next) error { return ErrReset })}
			front := startFront(t, config, answering(echo))
			client := front.dial(t)
			if config.TLS != nil {
				client = client.encrypt(certificate.client)
			}
			client.send(t, ping(t, 1))
			client.expectReset(t)
			assert.Empty(t, front.lines())
		})
	}
}

func TestServeResetsEveryConnection(t *testing.T) {
	front := startFront(t, Config{}, answering(echo))
	clients := []*conversation{front.dial(t), front.dial(t)}
	for i, client := range clients {
		client.send(t, ping(t, int32(i)))
		client.receive(t)
	}
	front.cancel(ErrReset)
	for _, client := range clients {
		client.expectReset(t)
	}
	assert.Empty(t, front.lines())
}

// Every way to end leaves no goroutine behind, while the front goes on to serve.
func TestNoGoroutineIsLeft(t *testing.T) {
	ends := map[string]error{"closes": ErrClose, "resets": ErrReset, "fails": errors.New("no")}
	front := startFront(t, Config{Handlers: []Handler{handleFunc(
		func(ctx context.Context, req *Request, reply ReplyFunc, next Next) error {
			if err, ends := ends[req.Command]; ends {
				return err
			}
			if req.Command == "waits" {
				<-ctx.Done()
				return ctx.Err()
			}
			return next(ctx, req, reply)
		},
	)}}, answering(echo))
	before := runtime.NumGoroutine()
	for name, last := range map[string]string{
		"client leaves": "ping", "client leaves a waiting handler": "waits",
		"handler closes": "closes", "handler resets": "resets", "handler fails": "fails", "client misbehaves": garbage,
	} {
		client := front.dial(t)
		client.send(t, ping(t, 1)) // so that there is a connection to the backend, too
		client.receive(t)
		if last == garbage {
			_, err := client.Write([]byte(garbage))
			require.NoError(t, err, name)
		} else {
			client.send(t, commandNamed(t, last))
		}
		if last != "ping" && last != "waits" {
			_ = client.SetReadDeadline(time.Now().Add(patience))
			_, err := client.read()
			require.Error(t, err, name)
		}
		require.NoError(t, client.Close(), name)
	}
	expectGoroutines(t, before)
	front.stop()
}

// expectGoroutines waits until there are no more goroutines than that.
func expectGoroutines(t testing.TB, want int) {
	t.Helper()
	for start := time.Now(); runtime.NumGoroutine() > want; time.Sleep(time.Millisecond) {
		if time.Since(start) > patience {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, want %d:\n%s", runtime.NumGoroutine(), want, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
