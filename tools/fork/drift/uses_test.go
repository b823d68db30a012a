package drift

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/upstream"
)

// usedBy returns what a plan's fork uses, as lines "key < way".
func usedBy(t *testing.T, p *plan.Plan) []string {
	t.Helper()
	program, err := compile(t.Context(), p)
	require.NoError(t, err)
	require.NoError(t, program.refused.OrNil())
	var lines []string
	for _, use := range usesOf(p, program) {
		lines = append(lines, use.Subject.String()+" < "+use.Ours)
	}
	return lines
}

// The module of these tests: two functions that the overlay replaces or wraps, and what stands around them.
var module = filetree.Tree{
	"go.mod": []byte("module example.com/driver/v2\n\ngo 1.19\n"),
	"pool/pool.go": []byte(`package pool

import (
	"time"

	"example.com/driver/v2/wire"
)

type Pool struct {
	wire.Conn
	limits limits
}

type limits struct{ wait time.Duration }

func (p *Pool) replaced() {}

func (p *Pool) wrapped() { p.Write(header()) }

func (p *Pool) calls() { p.replaced() }

func (p *Pool) far() { p.calls() }

func (p *Pool) wait() time.Duration { return p.limits.wait.Round(1) }

func unused() { wire.Unused() }

func made() *config { return &config{} }

type config struct{}

func helper() {}
`),
	"pool/pool_test.go": []byte("package pool\n\nfunc helped() { (&Pool{}).replaced() }\n"),
	"pool/header.go":    []byte("package pool\n\nfunc header() []byte { return nil }\n"),
	"wire/wire.go": []byte(`package wire

type Conn struct{ buffer }

type buffer []byte

func (c *Conn) Write(b []byte) { flush(c.buffer, size) }

func flush(b buffer, n int) {}

const size = 1

func Unused() {}

type flusher interface{ Flush() }

type file struct{}

func (*file) Flush() { synced() }

func (*file) Close() {}

func synced() {}

func Flush(f flusher) { f.Flush() }
`),
}

func TestUses(t *testing.T) {
	t.Parallel()
	_, p := forktest.PlanOn(t, module, filetree.Tree{
		"pool/overlay.go": []byte(`package pool

import "time"

//fork:replace waits
func (p *Pool) replaced() { p.pause(p.wait()) }

//fork:wrap waits
func (p *Pool) wrapped() { p.upstreamWrapped() }

func (p *Pool) pause(time.Duration) {}

//fork:extend a limit
type config struct{ limit int }
`),
		"pool/overlay_test.go": []byte("package pool\n\nfunc ofTests() { helper() }\n"),
	})
	require.Equal(t, []string{
		"pool Pool < pool Pool.pause",
		"pool Pool.wait < pool Pool.replaced",
		"pool header < pool Pool.wrapped",
		"wire Conn.Write < pool Pool.wrapped",
		"pool limits < pool Pool.pause, through pool Pool",
		"wire Conn < pool Pool.pause, through pool Pool",
		"wire flush < pool Pool.wrapped, through wire Conn.Write",
		"wire size < pool Pool.wrapped, through wire Conn.Write",
		"wire buffer < pool Pool.pause, through pool Pool, through wire Conn",
	}, usedBy(t, p))
}

// What is called through an interface is used, too.
func TestUsesThroughInterfaces(t *testing.T) {
	t.Parallel()
	_, p := forktest.PlanOn(t, module, filetree.Tree{
		"pool/overlay.go": []byte(`package pool

import "example.com/driver/v2/wire"

//fork:replace flushes
func (p *Pool) replaced() { wire.Flush(nil) }
`),
	})
	used := usedBy(t, p)
	require.Contains(t, used, "wire file.Flush < pool Pool.replaced, through wire Flush")
	require.Contains(t, used, "wire synced < pool Pool.replaced, through wire Flush, through wire file.Flush")
	require.NotContains(t, strings.Join(used, "\n"), "Close")
}

// What upstream's own compiler would refuse is found where it stands.
func TestMistakes(t *testing.T) {
	t.Parallel()
	broken := filetree.Tree{"pool/broken.go": []byte("package pool\n\nfunc (p *Pool) broken() {\n\tp.absent()\n\t_ = min(1, 2)\n}\n")}
	for name, data := range module {
		broken[name] = data
	}
	m, err := upstream.New(forktest.Module, forktest.Base, broken)
	require.NoError(t, err)
	program, err := load(t.Context(), m)
	require.NoError(t, err)
	require.Len(t, program.refused, 2)
	require.ErrorContains(t, program.refused, "pool/broken.go:4: p.absent undefined")
	require.Regexp(t, `pool/broken.go:5: .*min requires go1.21 or later`, program.refused.Error())
}
