package suite

import (
	"strings"

	"mongofork/tools/gotest"
)

// rerunCommand returns a shell command, for the root of the repository, that runs one test again. dir is the module's folder
// below the root, or empty; the environment goes in front unchanged.
func rerunCommand(dir string, command gotest.Command, key gotest.Key, pkg string, environment ...string) string {
	words := append([]string(nil), environment...)
	words = append(words, "go", "test")
	if dir != "" {
		words = append(words, "-C", dir)
	}
	words = append(words, "-count=1")
	words = append(words, command.Flags...)
	if key.Test != "" {
		words = append(words, "-run", quote(gotest.Pattern(key.Test)))
	}
	return strings.Join(append(words, pkg), " ")
}

// quote quotes a word for a POSIX shell.
func quote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
