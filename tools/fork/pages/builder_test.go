//go:build unix

package pages

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
)

// stranger is a machine on which somebody follows the pages: a clone of the repository in "overload", and beside it an application in
// "app".
type stranger struct {
	dir string
	env []string
}

// TestBuilderPage follows the README and builder.md word by word, with the whole repository as it is here: it puts the fork into an
// application, as a folder and as a release, and runs the commands of the jobs and the Dockerfiles of the page. Images, actions and
// proxy.golang.org are not used: modules come from the module cache.
func TestBuilderPage(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the fork and an application several times, which takes a minute")
	}
	s := newStranger(t)
	readme, page := text(t, "README.md"), text(t, "docs/builder.md")
	s.sh(t, "app", "go mod tidy")

	// The first line of the README clones.
	lines := strings.Split(strings.TrimSpace(after(t, readme, "## Use it", "\n    git clone <this repository> overload\n")), "\n")
	s.sh(t, "", lines[0])
	require.Regexp(t, `-fork\.\d`, s.sh(t, "app", "go run ."))

	t.Run("a job of CI, with a folder", func(t *testing.T) { s.commands(t, block(t, page), "", "go run .") })
	t.Run("a Dockerfile, with a folder", func(t *testing.T) { s.commands(t, block(t, page), "app", "./server") })
	t.Run("going back", func(t *testing.T) {
		commit := strings.TrimSpace(s.sh(t, "overload", "git rev-parse --short=12 HEAD"))
		s.sh(t, "", strings.ReplaceAll(block(t, text(t, "docs/runbook.md")), "0123456789ab", commit))
	})
	t.Run("going back to upstream", func(t *testing.T) { s.sh(t, "", block(t, text(t, "docs/runbook.md"))) })
	require.NotContains(t, s.sh(t, "app", "cat go.mod"), "fork")

	// The page has a folder of root's, and the module cache stands for other proxies. The release has the adapters.
	t.Run("a release", func(t *testing.T) {
		release := strings.ReplaceAll(block(t, page), "/srv/", s.dir+"/")
		const adapters = " mongofork.internal/otel mongofork.internal/prometheus"
		s.sh(t, "overload", release+"\ncd ../app\ngo get"+adapters+"\ngo build"+adapters)
	})
	s.env = append(s.env, "GOPROXY=file://"+s.dir+"/goproxy/fork.1,"+proxies(t))
	t.Run("a job of CI, with a release", func(t *testing.T) { s.commands(t, block(t, page), "app", "go run .") })
	t.Run("a Dockerfile, with a release", func(t *testing.T) { s.commands(t, block(t, page), "app", "./server") })
}

// newStranger clones what git tracks, or would. Without changes the fork has the version, and so the compiled files, that it has here.
func newStranger(t *testing.T) *stranger {
	t.Helper()
	s := &stranger{dir: t.TempDir()}
	tracked, err := command.Output(t.Context(), root, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	require.NoError(t, err)
	files := filetree.Tree{}
	for _, name := range strings.Split(strings.Trim(string(tracked), "\x00"), "\x00") {
		if data, err := os.ReadFile(filepath.Join(root, name)); err == nil { // a deleted file is tracked until the next commit
			files[name] = data
		}
	}
	// What other tests compile is not compiled again, as if it lay in the same folder.
	s.env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -trimpath -modcacherw", "BASE=", "GOWORK=off", "GOPROXY="+proxies(t),
		"GOMODCACHE="+filepath.Join(s.dir, "modules"))
	here, err := filepath.Abs(root)
	require.NoError(t, err)
	s.sh(t, "", "git clone -q -n -c core.fileMode=false "+here+" overload")
	require.NoError(t, files.Write(filepath.Join(s.dir, "overload")))
	require.NoError(t, forktest.Archive(t, "app.txtar").Write(filepath.Join(s.dir, "app")))
	s.sh(t, "overload", "git reset -q && git add -A && (git diff --cached --quiet || git -c user.name=A -c user.email=a@localhost commit -q -m first)")
	return s
}

// proxies are the module cache of this machine, and what serves it otherwise.
func proxies(t *testing.T) string {
	t.Helper()
	out, err := command.Output(t.Context(), root, nil, "go", "env", "GOMODCACHE", "GOPROXY")
	require.NoError(t, err)
	cache, proxy, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return "file://" + cache + "/cache/download," + proxy
}

// sh runs a script in a folder of the machine, and returns what it prints.
func (s *stranger) sh(t *testing.T, dir, script string) string {
	t.Helper()
	return sh(t, filepath.Join(s.dir, dir), s.env, script)
}

func sh(t *testing.T, dir string, env []string, script string) string {
	t.Helper()
	cmd := exec.Command("bash", "-e", "-c", script)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", script, out)
	return string(out)
}

// commands runs those of a job of GitHub Actions, or of a Dockerfile, one after the other in a folder of a new machine, on which the
// application and the clone lie side by side; the clone has no build. The application that is built in the end has the fork.
func (s *stranger) commands(t *testing.T, text, in, build string) {
	t.Helper()
	machine := t.TempDir()
	s.sh(t, "", "cp -R app overload "+machine+" && rm -rf "+machine+"/overload/build")
	if strings.Contains(text, "COPY --from=fork . ../overload/build/v2.5.0") {
		s.sh(t, "overload", "mkdir "+machine+"/overload/build && cp -R build/v2.5.0 "+machine+"/overload/build")
	}
	found := ofPage.FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, found)
	for _, c := range found {
		sh(t, filepath.Join(machine, in), s.env, c[1])
	}
	require.Contains(t, sh(t, filepath.Join(machine, "app"), s.env, build), "fork")
}

var ofPage = regexp.MustCompile(`(?m)^(?: +- run:|RUN) (.*)$`)

func text(t *testing.T, page string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, page))
	require.NoError(t, err)
	return string(content)
}

// after returns what follows a text below a heading of a page.
func after(t *testing.T, page, heading, text string) string {
	t.Helper()
	_, below, found := strings.Cut(page, heading)
	require.True(t, found, heading)
	_, below, found = strings.Cut(below, text)
	require.True(t, found, text)
	return below
}

// block returns the code of a page that follows the mark "<!-- run: … -->" with the test's name, without fences and indentation.
func block(t *testing.T, page string) string {
	t.Helper()
	_, name, _ := strings.Cut(t.Name(), "/")
	_, below, found := strings.Cut(page, "<!-- run: "+strings.ReplaceAll(name, "_", " ")+" -->\n")
	require.True(t, found, "the page has no mark for %s", name)
	if fenced, found := strings.CutPrefix(below, "```"); found {
		_, fenced, _ = strings.Cut(fenced, "\n")
		code, _, _ := strings.Cut(fenced, "```")
		return code
	}
	code, _, _ := strings.Cut(below, "\n\n")
	return strings.ReplaceAll("\n"+code, "\n    ", "\n")
}
