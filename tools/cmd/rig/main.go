// Rig runs the project's test suites, and starts MongoDB servers for them.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"mongofork/tools/command"
	"mongofork/tools/fork"
	"mongofork/tools/rig/advisories"
	"mongofork/tools/rig/programs"
	"mongofork/tools/rig/server"
	"mongofork/tools/rig/specs"
	"mongofork/tools/rig/suite"
)

// cli is the command line. Each command is a struct with a Run method.
type cli struct {
	Base string `env:"BASE" help:"Version of upstream that the fork is built on. Default: the oldest."`

	Test   testCmd   `cmd:"" help:"Run the test suites and print a report."`
	Server serverCmd `cmd:"" help:"Start a MongoDB server, or find the one that MONGODB_URI names."`
	Mongod mongodCmd `cmd:"" help:"Print the path of the mongod whose members a soak starts, and install it if necessary."`

	Advisories advisoriesCmd    `cmd:"" help:"Look for known vulnerabilities in the dependencies of every base's fork and of this repository's modules."`
	With       programs.With    `cmd:"" help:"Run a go command in a module of this repository, with any driver."`
	Compare    programs.Compare `cmd:"" help:"Run the fork and upstream with random plans in virtual time, and report where the fork breaks a rule."`

	Mutants        mutantsCmd        `cmd:"" help:"Make changes in our functions of the fork, and report which nothing notices."`
	Packages       packagesCmd       `cmd:"" help:"Run those tests of some packages that need no server, in a tree of the series."`
	Specifications specificationsCmd `cmd:"" help:"Get the specification tests that upstream's tests use, and print the PROJECT_DIRECTORY to set for them."`
}

// find returns the rig and the specifications of the repository that is the working directory, after checking that it has the base.
func find(base string) (*suite.Rig, *specs.Store, error) {
	root, err := os.Getwd()
	bases, basesErr := (&fork.Project{Root: root}).Bases()
	if err := errors.Join(err, basesErr); err != nil {
		return nil, nil, err
	}
	base = cmp.Or(base, bases[0])
	if !slices.Contains(bases, base) {
		return nil, nil, fmt.Errorf("there is no base %q; name one with BASE or --base: %s", base, strings.Join(bases, ", "))
	}
	store, revisions, err := specs.Open(root, base, os.Stderr)
	if err != nil {
		return nil, nil, err
	}
	return &suite.Rig{
		Root: root, Base: base, Revisions: revisions, CI: os.Getenv("CI") == "true", Environ: os.Environ(),
		Project: store.Project, Open: server.Open, Log: log.New(os.Stderr, "", 0),
	}, store, nil
}

func main() { command.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := new(cli)
	return command.Program{
		Name: "rig", CLI: c, Failed: exitCode,
		Description: "Runs the test suites of this repository, and starts the servers and programs that they need.\n\n" +
			"Exit codes: 0 done, 1 a test or check failed, 2 wrong usage or environment.",
		Options: []kong.Option{
			kong.BindTo(ctx, (*context.Context)(nil)), kong.BindTo(stdout, (*io.Writer)(nil)),
			kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
			kong.Vars{"default": suite.Default, "suites": suite.All},
		},
		Do: func(parsed *kong.Context) error {
			rig, store, err := find(c.Base)
			if err != nil {
				return err
			}
			return parsed.Run(rig, store, programs.Builder{Root: rig.Root, Base: rig.Base, Stderr: os.Stderr})
		},
	}.Run(args, stdout, stderr)
}

// exitCode prints an error, unless a report has already shown it, and returns its exit code: that of a command if it has one.
func exitCode(err error, stderr io.Writer) int {
	if errors.Is(err, suite.ErrFailed) {
		return command.ExitFailed
	}
	fmt.Fprintf(stderr, "rig: %s\n", suite.Redact(err.Error()))
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) && coded.ExitCode() > 0 {
		return coded.ExitCode()
	}
	return command.ExitUsage
}

type testCmd struct {
	Only []string `sep:"," enum:"${suites}" default:"${default}" placeholder:"SUITE" help:"Run only these suites: ${suites}. The last two run only if they are named."`
	Race bool     `help:"Run the overlay's tests with the race detector, which needs a C compiler."`
}

// Validate refuses an empty list, such as that of an unset variable, of which nothing would fail.
func (c *testCmd) Validate() error {
	if len(c.Only) == 0 {
		return errors.New("--only names no suite")
	}
	return nil
}

func (c *testCmd) Run(ctx context.Context, rig *suite.Rig, stdout io.Writer) error {
	rig.Race = c.Race
	start := time.Now()
	results, err := rig.Run(ctx, c.Only)
	rig.Log.Printf("total: %v", time.Since(start).Round(time.Second))
	if err != nil {
		return err
	}
	// What "make test" ends with.
	return errors.Join(suite.Write(stdout, results), os.WriteFile(filepath.Join(rig.Root, "build", "incomplete"),
		[]byte(suite.Incomplete(results)), 0o644))
}

type advisoriesCmd struct {
	Database string   `required:"" help:"The version of golang.org/x/vulndb."`
	Tool     string   `required:"" help:"The version of govulncheck."`
	Modules  []string `arg:"" help:"Folders of modules, below the root of the repository."`
}

func (c *advisoriesCmd) Run(ctx context.Context, rig *suite.Rig, stdout io.Writer) error {
	project := &fork.Project{Root: rig.Root}
	list, listErr := project.Advisories()
	bases, err := project.Bases()
	index := filepath.Join(rig.Root, "build", "vulndb")
	if err := errors.Join(listErr, err, advisories.Prepare(ctx, c.Database, index)); err != nil {
		return err
	}
	var failed error
	for i, of := range slices.Concat(bases, c.Modules) {
		folder := of
		if i < len(bases) {
			folder = filepath.Join("build", of)
		}
		found, err := advisories.Scan(ctx, c.Tool, index, filepath.Join(rig.Root, folder))
		if err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		said, open := advisories.Judge(found, list, of)
		fmt.Fprintf(stdout, "%s: %s\n", folder, said)
		if open {
			failed = suite.ErrFailed
		}
	}
	return failed
}

type packagesCmd struct {
	Tree     string   `arg:"" help:"The tree, below the root of the repository."`
	Packages []string `arg:"" name:"package" help:"Packages in it, such as ./mongo."`
}

func (c *packagesCmd) Run(ctx context.Context, rig *suite.Rig, stdout io.Writer) error {
	results, err := rig.Packages(ctx, c.Tree, c.Packages)
	if err != nil {
		return err
	}
	return suite.Write(stdout, results)
}

// servers is where servers are installed and started.
func servers(rig *suite.Rig) server.Config { return server.Config{Root: rig.Root, Progress: os.Stderr} }

type serverCmd struct {
	Topology string   `placeholder:"TOPOLOGY" help:"Start this deployment, with the mongod on the PATH, of any version, or else the pinned one: standalone, replicaset:N, or, with the mongos on the PATH, sharded:N."`
	Users    bool     `help:"Start it with a key file and a user; the URI has the credentials."`
	Command  []string `arg:"" optional:"" passthrough:"partial" placeholder:"COMMAND" help:"Command to run with MONGODB_URI set (after --). Without one, print the server's URI and run it until interrupted."`
}

// Run starts or finds a server, and finally stops it if it started it.
func (c *serverCmd) Run(ctx context.Context, rig *suite.Rig, stdout io.Writer) (err error) {
	cfg := servers(rig)
	cfg.Topology, cfg.Users = c.Topology, c.Users
	s, err := server.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	if len(c.Command) > 0 {
		return command.PassThrough(ctx, []string{"MONGODB_URI=" + s.URI, "SERVER="}, c.Command) // it has been chosen
	}
	if _, err := fmt.Fprintln(stdout, s.URI); err != nil {
		return err
	}
	return s.Wait(ctx) // an interrupt is how it is stopped
}

type mongodCmd struct{}

func (mongodCmd) Run(ctx context.Context, rig *suite.Rig, stdout io.Writer) error {
	path, err := server.MembersBinary(ctx, servers(rig))
	if err == nil {
		_, err = fmt.Fprintln(stdout, path)
	}
	return err
}

type specificationsCmd struct{}

func (specificationsCmd) Run(ctx context.Context, rig *suite.Rig, store *specs.Store, stdout io.Writer) error {
	project, err := store.Project(ctx, rig.Revisions.Upstream)
	if err == nil {
		_, err = fmt.Fprintln(stdout, project.Dir)
	}
	return err
}
