package mutants

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
)

const upstreams = `package p

func Theirs(n int) bool { return n > 3 }
`

const ours = `package p

import "errors"

const limit = 2

type counter struct{ n int }

func Theirs(n int) bool { return n > 3 }

func (c *counter) add(n int) error {
	if n < 0 {
		return errors.New("negative")
	}
	c.n += n
	return nil
}

func reached(n int) bool { return n > limit }

func never() int {
	unused := 0
	unused = 1
	return unused
}
`

const tests = `package p

import "testing"

func TestAdd(t *testing.T) {
	var c counter
	if c.add(-1) == nil || c.add(2) != nil || c.n != 2 {
		t.Fatal(c)
	}
}

func TestReached(t *testing.T) { _ = reached(1) }
`

// TestMutants: only what upstream does not have is changed; what a test asserts is noticed, what it only runs survives, and what none
// runs is not reached.
func TestMutants(t *testing.T) {
	root := t.TempDir()
	tree, pristine := filepath.Join(root, "fork"), filepath.Join(root, "pristine")
	module := []byte("module m\n\ngo 1.19\n")
	require.NoError(t, filetree.Tree{"go.mod": module, "p/a.go": []byte(upstreams)}.Write(pristine))
	require.NoError(t, filetree.Tree{"go.mod": module, "p/a.go": []byte(ours), "p/a_test.go": []byte(tests)}.Write(tree))

	chosen, err := Choose(tree, pristine, 1, 100)
	require.NoError(t, err)
	again, err := Choose(tree, pristine, 1, 100)
	require.NoError(t, err)
	assert.Equal(t, chosen, again, "with the same seed")
	for _, m := range chosen {
		assert.Greater(t, m.Line, 9, "of upstream: %v", m)
	}
	named, err := Named(tree, []Defect{{"nothing is added", "p", "c.n += n", "_ = n"}, {"broken", "p", "n > limit", "n > \"\""}})
	require.NoError(t, err)
	_, err = Named(tree, []Defect{{"twice", "p", "n", ""}})
	assert.ErrorContains(t, err, `etc/planted.yaml: the entry "twice" is out of date`)

	planted, err := Plant(t.Context(), tree, append(chosen, named...))
	require.NoError(t, err)
	assert.NotContains(t, planted, named[1], "it does not compile")

	binary := filepath.Join(root, "p.test")
	require.NoError(t, CompileTests(t.Context(), filepath.Join(tree, "p"), binary))
	var out strings.Builder
	jury, err := Summon(t.Context(), []Binary{{Path: binary, Folder: tree, Tests: []string{"TestAdd", "TestReached"}}}, &out)
	require.NoError(t, err)
	verdicts, err := jury.Judge(t.Context(), planted)
	require.NoError(t, err)
	assert.Empty(t, out.String())
	for _, m := range planted {
		want := map[bool]Verdict{true: Noticed, false: Survived}[m.Line < 18]
		if m.Line > 20 {
			want = Unreached
		}
		assert.Equal(t, want, verdicts[m.Name], "%v", m)
	}
	Report(&out, planted, verdicts)
	assert.Contains(t, out.String(), "survived: p/a.go:19 ")
}
