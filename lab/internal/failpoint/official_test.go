package failpoint

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// Every fail point of the specifications' unified tests is taken, but for those that are none of the lab's.
func TestFailPointsOfTheSpecifications(t *testing.T) {
	root := os.Getenv("SPECIFICATIONS")
	if root == "" {
		t.Skip("SPECIFICATIONS is not set; point it to a checkout of mongodb/specifications")
	}
	taken := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if matched, _ := filepath.Match("*.json", filepath.Base(path)); err != nil || !matched || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var doc bson.D
		if bson.UnmarshalExtJSON(text, false, &doc) != nil {
			return nil // some of the files hold what is no extended JSON on purpose
		}
		failPoints(doc, func(command bson.D) {
			_, err := newBench(t).Handler.set("admin", marshal(t, command))
			if name := command[0].Value; name == failCommandName || name == transactionalWriteName {
				taken++
				assert.NoError(t, err, path)
			} else {
				assert.ErrorContains(t, err, "not a fail point of the lab", path)
			}
		})
		return nil
	}))
	assert.NotZero(t, taken, "there is no fail point under %s", root)
	t.Logf("%d fail points", taken)
}

// failPoints calls visit with every document, however deep, that configures a fail point.
func failPoints(value any, visit func(bson.D)) {
	switch value := value.(type) {
	case bson.D:
		if len(value) > 0 && value[0].Key == "configureFailPoint" {
			visit(value)
			return
		}
		for _, element := range value {
			failPoints(element.Value, visit)
		}
	case bson.A:
		for _, item := range value {
			failPoints(item, visit)
		}
	}
}
