package demo

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// servers are members that remember whether they are limited.
type servers struct {
	mu      sync.Mutex
	limited map[string]bool
	// failing is the one that cannot be limited.
	failing string
}

var errUnreachable = errors.New("unreachable")

func (s *servers) member(host string) member {
	return member{host, func(ctx context.Context, command bson.D) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, parameter := range command {
			if parameter.Key != limiterEnabled {
				continue
			}
			on := parameter.Value.(bool)
			if on && host == s.failing {
				return errUnreachable
			}
			s.limited[host] = on
		}
		return nil
	}}
}

func (s *servers) areLimited() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var hosts []string
	for _, host := range []string{"a", "b"} {
		if s.limited[host] {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

func newOverload(failing string) (*overload, *servers) {
	s := &servers{limited: map[string]bool{}, failing: failing}
	return &overload{members: []member{s.member("a"), s.member("b")}, lasts: time.Minute}, s
}

func TestOverloadEndsInEveryCase(t *testing.T) {
	t.Parallel()
	failure := errors.New("the shop burnt down")
	ctx, cancel := context.WithCancel(t.Context())
	for name, test := range map[string]struct {
		ctx  context.Context
		end  func() error
		want error
	}{
		"success":   {t.Context(), func() error { return nil }, nil},
		"failure":   {t.Context(), func() error { return failure }, failure},
		"interrupt": {ctx, func() error { cancel(); return ctx.Err() }, context.Canceled},
	} {
		load, servers := newOverload("")
		err := load.during(test.ctx, func(context.Context) error {
			assert.Equal(t, []string{"a", "b"}, servers.areLimited(), name)
			return test.end()
		})
		require.ErrorIs(t, err, test.want, name)
		assert.Empty(t, servers.areLimited(), name)
	}
}

func TestOverloadLastsItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		load, servers := newOverload("")
		require.NoError(t, load.during(t.Context(), func(context.Context) error {
			time.Sleep(load.lasts - time.Nanosecond)
			assert.Len(t, servers.areLimited(), 2)
			time.Sleep(2 * time.Nanosecond)
			synctest.Wait()
			assert.Empty(t, servers.areLimited())
			return nil
		}))
	})
}

func TestOverloadNeedsAllMembers(t *testing.T) {
	t.Parallel()
	load, servers := newOverload("b")
	err := load.during(t.Context(), func(context.Context) error {
		assert.Fail(t, "nothing is to run without the overload")
		return nil
	})
	require.ErrorIs(t, err, errUnreachable)
	assert.ErrorContains(t, err, "requests of b")
	assert.Empty(t, servers.areLimited(), "what was limited before is not left so")
}

func TestScenariosLimitMembers(t *testing.T) {
	t.Parallel()
	for primary, secondary := range map[string]string{"h:1": "h:3", "h:2": "h:3", "h:3": "h:2"} {
		for i, want := range [][]string{{"h:1", "h:2", "h:3"}, {secondary}} {
			load, err := connectOverload("mongodb://h:1,h:2,h:3/?replicaSet=lab", primary, scenarios[i])
			require.NoError(t, err)
			var hosts []string
			for _, m := range load.members {
				hosts = append(hosts, m.host)
			}
			assert.Equal(t, want, hosts, scenarios[i].name)
			load.close(t.Context())
		}
	}
}

func TestURIOf(t *testing.T) {
	t.Parallel()
	uri, err := uriOf([]string{"LAB_URL=http://x", "MONGODB_URI=mongodb://h/?a=b"})
	require.NoError(t, err)
	assert.Equal(t, "mongodb://h/?a=b", uri)
	_, err = uriOf([]string{"LAB_URL=http://x"})
	assert.ErrorContains(t, err, "no MONGODB_URI")
}
