package output

import (
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
)

// Every change between two texts has to be found where it is.
func TestHunks(t *testing.T) {
	t.Parallel()
	texts := []string{"", "a\n", "a\nb\nc\n", "a\nx\nc\n", "x\na\nb\nc\n", "a\nb\nc\nx\ny\n", "-- a\n++ b\n", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n", "A\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nL", "a"}
	for _, was := range texts {
		for _, now := range texts {
			var edits []assemble.Edit
			starts := lineOffsets([]byte(was))
			for _, h := range filetree.Hunks(filetree.NewDiff("", "a", []byte(was), "b", []byte(now)).Text) {
				edits = append(edits, assemble.Edit{Start: starts[h.Start], End: starts[h.End], Text: h.Text})
			}
			got, _, err := assemble.Splice([]byte(was), "", edits)
			require.NoError(t, err)
			require.Equal(t, now, string(got), "from %q", was)
		}
	}
}
