// Package realmongod finds a mongod for tests that need real members.
package realmongod

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Variable is the environment variable with a mongod's path.
const Variable = "MONGOD"

// Binary returns the path of a mongod: from the environment, installed by the rig, or on the PATH. Without one it skips the test.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(Variable); path != "" {
		return path
	}
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(here), "..", "..", "..")
	if found, _ := filepath.Glob(filepath.Join(root, "build", "server", "mongod-*", "mongod")); len(found) > 0 {
		return found[0]
	}
	path, err := exec.LookPath("mongod")
	if err != nil {
		t.Skipf("there is no mongod: name one with %s; on Linux on x86-64, make server installs one", Variable)
	}
	return path
}
