package deployment

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/proxy"
)

const (
	// An address that was given up may be in use for a moment by whoever got its port.
	listenInterval = 20 * time.Millisecond
	listenPatience = 10 * time.Second
)

// front serves an address, and gives it up and takes it again as its faults require.
type front struct {
	address  string
	proxy    *proxy.Front
	admin    []proxy.Handler // answer what an administrator asks of the front itself
	faults   fault.Switch
	down, up func() // tell the cluster
	isDown   bool   // the cluster knows; for run alone

	mu        sync.Mutex
	listener  net.Listener            // the next to be served, nil when there is none yet
	interrupt context.CancelCauseFunc // ends what is served; nil before the first time
}

func newFront(listener net.Listener) *front {
	return &front{address: listener.Addr().String(), listener: listener}
}

// set replaces the fault, and ends the connections where it is one that does.
func (f *front) set(wanted fault.Fault, duration time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults.SetFor(wanted, duration)
	if f.interrupt != nil && (wanted.Kind == fault.Reset || wanted.Kind == fault.Restart) {
		f.interrupt(proxy.ErrReset)
	}
}

// run serves until the context ends.
func (f *front) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := f.serve(ctx); err != nil {
			return err
		}
	}
	return nil
}

// serve serves until the context ends or a fault interrupts it.
func (f *front) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f.mu.Lock()
	f.interrupt = cancel
	f.mu.Unlock()

	if f.faults.Current().Kind == fault.Restart {
		f.isDown = true
		f.down()
	}
	if err := f.faults.While(ctx, fault.Restart); err != nil {
		return nil // the end, or another fault
	}
	listener, err := f.listen(ctx)
	if err != nil || listener == nil {
		return err
	}
	if f.isDown {
		f.isDown = false
		f.up()
	}
	return f.proxy.Serve(ctx, listener)
}

// listen returns the listener that there is, or else takes the address again. It returns neither a listener nor an error
// where the context ends before.
func (f *front) listen(ctx context.Context) (net.Listener, error) {
	f.mu.Lock()
	listener := f.listener
	f.listener = nil
	f.mu.Unlock()
	if listener != nil {
		return listener, nil
	}
	for start := time.Now(); ; {
		listener, err := net.Listen("tcp", f.address)
		if err == nil {
			return listener, nil
		}
		if time.Since(start) > listenPatience {
			return nil, fmt.Errorf("the front cannot listen again: %w; choose ports that nobody else uses", err)
		}
		if (clock.System{}).Wait(ctx, listenInterval) != nil {
			return nil, nil
		}
	}
}

// close gives up what is not served.
func (f *front) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults.Stop()
	if f.listener != nil {
		f.listener.Close()
	}
}
