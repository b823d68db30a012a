package fork

import (
	"bytes"
	"context"
	"fmt"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/plan"
)

// Patch returns the fork as one commit on top of the upstream module, in the format of git format-patch. The author has the form
// "Name <address>".
func (p *Project) Patch(ctx context.Context, subject, author string) ([]byte, error) {
	matched, tree, err := p.Assemble(ctx)
	if err != nil {
		return nil, err
	}
	before := assemble.Pristine(matched.Module)
	g, done, err := git.New(ctx, author)
	if err != nil {
		return nil, err
	}
	defer done()
	g.Commit(before, matched.Module.String())
	g.Commit(assemble.Headed(before, assemble.Noticed(before, tree)), subject+"\n\n"+commitMessage(matched))
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
