package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/adopt"
	"mongofork/tools/command"
	"mongofork/tools/fork"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mongofork": main})
}

// The exit codes are those that the help names.
func TestExitCodes(t *testing.T) {
	for code, args := range [][]string{{"--help"}, {"-C", t.TempDir(), "build"}, {"build", "--wrong"}} {
		var out strings.Builder
		require.Equal(t, code, run(t.Context(), args, &out, &out), args)
	}
}

// The scripts run the whole program on the real driver, with small overlays. They take more than ten seconds: drift type-checks the driver.
func TestScripts(t *testing.T) { runScripts(t, "testdata", nil, defaultBase, "v2.10.0") }

// Applications of all kinds are put on the fork, and taken back. The scripts know its bases as OLDEST and NEWEST,
// and take more than ten seconds, because the go command tidies, builds and vendors some thirty times, and fetches releases to new caches.
func TestUse(t *testing.T) {
	bases, err := (&fork.Project{Root: filepath.Join("..", "..", "..")}).Bases()
	require.NoError(t, err)
	oldest, newest := bases[0], bases[len(bases)-1]
	repository := filetree.Tree{
		plan.FoldersFile: []byte("version\n"),
		"version/fork.go": []byte("package version\n\n// Fork is the patch level.\nconst Fork = \"fork.9\"\n\n" +
			"func init() { Driver += \"-\" + Fork }\n"),
	}
	at := t.TempDir()
	require.NoError(t, repository.Write(at))
	for _, base := range []string{oldest, newest} {
		var out strings.Builder
		code := run(t.Context(), []string{"-C", at, "--base", base, "accept"}, &out, &out)
		require.Equal(t, command.ExitOK, code, out.String())
	}
	repository, err = filetree.Read(at)
	require.NoError(t, err)
	runScripts(t, filepath.Join("testdata", "use"), func(env *testscript.Env) error {
		env.Setenv("GOFLAGS", os.Getenv("GOFLAGS")) // as make has it, so that nothing is compiled twice
		env.Setenv("OLDEST", oldest)
		env.Setenv("NEWEST", newest)
		return repository.Write(filepath.Join(env.WorkDir, "repository"))
	}, oldest, newest, "v2.4.2", "v2.7.0")
}

// runScripts runs the scripts of a folder. They need these versions of the driver; without them they are skipped, except in
// continuous integration.
func runScripts(t *testing.T, dir string, setup func(*testscript.Env) error, versions ...string) {
	t.Helper()
	goEnv, err := command.Output(t.Context(), t.TempDir(), nil, "go", "env", "GOMODCACHE", "GOCACHE", "GOPROXY")
	require.NoError(t, err)
	values := strings.Split(strings.TrimSpace(string(goEnv)), "\n")
	for _, version := range versions {
		_, err = command.Output(t.Context(), t.TempDir(), []string{"GOFLAGS=-mod=mod", "GOWORK=off"}, "go", "mod", "download",
			adopt.Driver+"@"+version)
		if err != nil && os.Getenv("CI") != "true" {
			t.Skipf("the driver's module is neither in the module cache nor can it be downloaded: %v", err)
		}
		require.NoError(t, err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GOMODCACHE", values[0])
			env.Setenv("GOCACHE", values[1])
			env.Setenv("GOPROXY", values[2])
			if setup == nil {
				return nil
			}
			return setup(env)
		},
	})
}

var (
	code    = regexp.MustCompile("(?m)`[^`\n]+`|^ {4,}.*$|^ *- run: .*$")
	builder = regexp.MustCompile("(?:/cmd/|[`( ])mongofork ([^`#&|;)\"]+)")
	output  = regexp.MustCompile(`\$\([^)]*\)`)
	target  = regexp.MustCompile(`\bmake ((?:-\S+ |[A-Z]+=\S+ )*)([a-z][a-z-]*)`)
)

// Each command of the builder that a page names has the form that the builder expects, and each target of make is in the Makefile.
func TestPagesNameCommandsThatExist(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "tools/fork/README.md", "etc/server/README.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		pages = append(pages, found...)
	}
	commands, targets := 0, 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, line := range code.FindAllString(string(text), -1) {
			line = output.ReplaceAllString(line, defaultBase)
			for _, m := range builder.FindAllStringSubmatch(line, -1) {
				args := slices.DeleteFunc(strings.Fields(m[1]), func(word string) bool { return word == "…" || word == "COMMAND" })
				if len(args) == 0 || strings.Contains(m[1], "stands for") {
					continue
				}
				commands++
				assert.NoError(t, parses(args), "%s: %s", page, line)
			}
			for _, m := range target.FindAllStringSubmatch(line, -1) {
				targets++
				assert.Regexp(t, `(?m)^(\.PHONY: .*|[a-z- ]*)\b`+regexp.QuoteMeta(m[2])+`\b`, string(makefile), "%s: %s", page, line)
			}
		}
	}
	require.Greater(t, commands, 15)
	require.Greater(t, targets, 25)
}

// parses says what is wrong with a command line, of which a page may leave out the argument.
func parses(args []string) error {
	var c cli
	parser := kong.Must(&c, kong.Vars{"base": defaultBase}, kong.Exit(func(int) {}), kong.Writers(io.Discard, io.Discard))
	_, err := parser.Parse(args)
	if err != nil && strings.Contains(err.Error(), "expected \"<") {
		return nil
	}
	return err
}
