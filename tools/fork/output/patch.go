package output

import (
	"bytes"
	"context"
	"fmt"

	"mongofork/tools/command"
	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/plan"
)

// Patch returns a plan's overlay as one commit on top of the upstream module, in the format of git format-patch. The author has the form
// "Name <address>".
func Patch(ctx context.Context, run command.RunFunc, p *plan.Plan, subject, author string) ([]byte, error) {
	a, err := assemble.Build(p)
	if err != nil {
		return nil, err
	}
	before := assemble.Pristine(p.Module)
	g, done, err := git.New(ctx, run, author)
	if err != nil {
		return nil, err
	}
	defer done()
	g.Commit(before, p.Module.String())
	g.Commit(assemble.Headed(before, assemble.Noticed(before, a)), subject+"\n\n"+commitMessage(p))
	text := g.Run("format-patch", "-1", "--stdout", "--no-signature", "--zero-commit", "--no-numbered",
		"--full-index", "--no-renames", "--stat-width=100")
	return text, g.Err
}

// commitMessage lists what the patch touches, as the body of its commit message.
func commitMessage(p *plan.Plan) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "On %s: %s.\n", p.Module, p.Counts())
	for _, t := range p.Touches {
		fmt.Fprintf(&b, "\n- %s %s: %s", t.How, t.Key, t.Reason)
	}
	return b.String()
}
