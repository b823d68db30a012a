package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mongofork/tools/redact"
	"mongofork/tools/rig/process"
	"mongofork/tools/rig/server"
)

const (
	// soakTime and soakSeed make the soak of the suite. The plan is always the same, so that only a change can make the suite
	// fail; "rig soak" takes a new one each time.
	soakTime = 45 * time.Second
	soakSeed = "1"
)

// soak runs the soak for applications with the fork, on real members. It is one case.
func (w work) soak(ctx context.Context, r *Result) error {
	mongod, err := server.MembersBinary(ctx, server.Config{Root: w.Root, Progress: w.Log.Writer()})
	if err != nil {
		return err
	}
	binary, err := BuildLab(ctx, w.Root, w.fork)
	if err != nil {
		return err
	}
	return w.program(ctx, r, "go run ./tools/cmd/rig soak --fork-only --seed "+soakSeed, nil, w.Root,
		binary, "soak", "--seed", soakSeed, "--duration", soakTime.String(), "--mongod", mongod, "--dir", w.file("build", "server"))
}

// compare runs plans with the fork and with untouched upstream in virtual time. It is one case.
func (w work) compare(ctx context.Context, r *Result) error {
	return w.program(ctx, r, "make compare", nil, w.file("lab"), "go", "run", "./cmd/compare",
		"--upstream", w.file(w.pristine), "--fork", w.file(w.fork), "--out", w.file("build", "virtual", w.Base))
}

// limits lets applications with the fork meet a server's own limits, and those of the lab's model of a server. It is one case.
func (w work) limits(ctx context.Context, r *Result) (err error) {
	s, err := w.open(ctx, server.Config{Limitable: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r.note("%s", s)
	return w.program(ctx, r, "make test ONLY=limits", s.Env, w.file("lab", "limits"), "go", "test", "-count=1", "-v", ".")
}

// cse runs the tests with the build tag cse, if there is libmongocrypt to link. It is one case.
func (w work) cse(ctx context.Context, r *Result) (err error) {
	if _, err := os.Stat(w.file("build", "cse", "made")); errors.Is(err, fs.ErrNotExist) {
		r.skip("not run: make test-cse gets libmongocrypt")
		return nil
	}
	project, err := w.project(ctx, w.Revisions.Upstream)
	if err != nil {
		return err
	}
	s, err := w.open(ctx, server.Config{Form: server.ReplicaSet(3)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	env := append([]string{"BASE=" + w.Base, "PROJECT_DIRECTORY=" + project}, s.Env...)
	return w.program(ctx, r, "make test-cse", env, w.Root, w.file("etc", "cse", "test.sh"))
}

// program runs a program that tests the fork and reports its findings.
func (w work) program(ctx context.Context, r *Result, rerun string, env []string, folder, name string, args ...string) error {
	cmd := process.Command(ctx, folder, w.env(env...), name, args...)
	output, err := cmd.CombinedOutput()
	process.Reap(cmd)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	text := redact.URIs(strings.TrimSpace(string(output)))
	if err != nil {
		r.fail(r.Name, err.Error(), rerun, strings.Split(text, "\n")...)
		return nil
	}
	r.Passed++
	r.Remarks = append(r.Remarks, text)
	return nil
}

// BuildLab builds the lab with the driver in a folder below the root, such as build/v2.5.0, and returns the binary's path.
func BuildLab(ctx context.Context, root, driver string) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	env, err := labWith(root, driver)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(labFolder(root, driver), "lab.exe") // the suffix matters on Windows only
	cmd := process.Command(ctx, filepath.Join(root, "lab"), append(os.Environ(), env...), "go", "build", "-o", binary, "./cmd/lab")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build the lab with %s: %w\n%s", driver, err, said.Bytes())
	}
	return binary, nil
}

func labFolder(root, driver string) string {
	return filepath.Join(root, "build", "labs", filepath.FromSlash(driver))
}

// labWith returns the environment in which the lab's module uses the driver in a folder below the root.
func labWith(root, driver string) ([]string, error) {
	out := labFolder(root, driver)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	workspace := filepath.Join(out, "go.work")
	text := fmt.Sprintf("go 1.25.0\n\nuse %q\n\nreplace %s => %q\n", filepath.Join(root, "lab"), Module, filepath.Join(root, filepath.FromSlash(driver)))
	return []string{"GOWORK=" + workspace, "GOFLAGS="}, os.WriteFile(workspace, []byte(text), 0o600)
}
