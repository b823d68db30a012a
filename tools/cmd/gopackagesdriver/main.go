// Gopackagesdriver lets gopls work on the overlay's files where they lie: with GOPACKAGESDRIVER set to this program, they are
// part of the assembled fork. "make editor" builds it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/tools/go/packages"

	"mongofork/tools/command"
	"mongofork/tools/editor"
	"mongofork/tools/fork"
)

const defaultBase = "v2.5.0"

func main() { command.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if err := answer(ctx, args, os.Stdin, stdout); err != nil {
		fmt.Fprintf(stderr, "gopackagesdriver: %v\n", err)
		return command.ExitFailed
	}
	return command.ExitOK
}

func answer(ctx context.Context, patterns []string, stdin io.Reader, stdout io.Writer) error {
	var request packages.DriverRequest
	if err := json.NewDecoder(stdin).Decode(&request); err != nil {
		return fmt.Errorf("read the request, which golang.org/x/tools/go/packages sends: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	w, err := workspace(dir)
	if err != nil {
		return err
	}
	response, err := w.Answer(ctx, dir, request, patterns)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(response)
}

// workspace finds the repository around a folder, and the fork of $BASE in it.
func workspace(dir string) (editor.Workspace, error) {
	root, err := fork.FindRoot(dir)
	if err != nil {
		return editor.Workspace{}, err
	}
	folders, err := (&fork.Project{Root: root}).Folders()
	if err != nil {
		return editor.Workspace{}, err
	}
	var overlay []string
	for _, folder := range folders {
		overlay = append(overlay, filepath.ToSlash(folder.Path))
	}
	base := os.Getenv("BASE")
	if base == "" {
		base = defaultBase
	}
	return editor.Open(root, base, overlay)
}
