package series

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"mongofork/tools/fork/assemble"
)

// finalReturn matches a return that is the last statement of a block at the end of a function, and not its only one.
var finalReturn = regexp.MustCompile(`([^{\s]\s*)\breturn\s*}$`)

// nameResults gives the results names if something is done with them after the call: upstream's, or else ours as far as they are free.
func (m *merger) nameResults() bool {
	theirs := parameterNames(m.theirs.Type.Results)
	body, top := identifiers(m.theirs.Body, false), declared(m.theirs.Body.List)
	for i, name := range m.results {
		to := name
		switch {
		case len(theirs) > 0:
			to = theirs[i]
		case name == "_":
			continue
		case slices.Contains(top, name), name != "err" && slices.Contains(body, name),
			slices.Contains(parameterNames(m.theirs.Type.Params), name), slices.Contains(parameterNames(m.theirs.Recv), name):
			to = "ret" + strings.ToUpper(name[:1]) + name[1:]
		}
		m.renamed[name] = to
	}
	return true
}

// doc returns upstream's comment, and then ours.
func (m *merger) doc() string {
	var parts []string
	for _, f := range []*ast.FuncDecl{m.theirs, m.ours} {
		if f.Doc != nil {
			parts = append(parts, string(m.file.Text(f.Doc.Pos(), f.Doc.End()))+"\n")
		}
	}
	return strings.Join(parts, "//\n")
}

// head returns upstream's head with our name, and with the results' names.
func (m *merger) head() string {
	f := m.theirs
	head := string(m.file.Text(f.Type.Func, f.Name.Pos())) + m.ours.Name.Name
	if f.Type.Results == nil || len(parameterNames(f.Type.Results)) > 0 || len(m.results) == 0 {
		return head + string(m.file.Text(f.Name.End(), f.Body.Lbrace))
	}
	var list []string
	for i, result := range f.Type.Results.List {
		name := m.results[i]
		if to := m.renamed[name]; to != "" {
			name = to
		}
		list = append(list, name+" "+string(m.file.Text(result.Pos(), result.End())))
	}
	return head + string(m.file.Text(f.Name.End(), f.Type.Params.End())) + " (" + strings.Join(list, ", ") + ") "
}

// start returns what ours does before the call.
func (m *merger) start() string {
	text := m.edited(m.ours.Body.Lbrace+1, m.at.Pos(), nil)
	for name, value := range m.assigned {
		text += m.renamed[name] + " = " + value + "\n"
	}
	return text
}

// deferred returns what ours does after the call, as a deferred function.
func (m *merger) deferred() string {
	if len(m.results) == 0 {
		return ""
	}
	text := m.edited(m.at.End(), m.ours.Body.Rbrace, m.returns(m.ours.Body))
	text = finalReturn.ReplaceAllString(strings.TrimSpace(text), "$1}")
	if strings.Contains(text, "\n") {
		return "defer func() {\n" + text + "\n}()\n"
	}
	return "defer func() { " + text + " }()\n"
}

// returns gives the named results the values that ours returns after the call.
func (m *merger) returns(in *ast.BlockStmt) (edits []assemble.Edit) {
	last := m.ours.Body.List[len(m.ours.Body.List)-1]
	ast.Inspect(in, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		s, ok := n.(*ast.ReturnStmt)
		if !ok || s.Pos() < m.at.Pos() {
			return true
		}
		var left, right []string
		for i, result := range s.Results {
			value := m.edited(result.Pos(), result.End(), nil)
			if name := m.renamed[m.results[i]]; value != name {
				left, right = append(left, name), append(right, value)
			}
		}
		text := ""
		if len(left) > 0 {
			text = strings.Join(left, ", ") + " = " + strings.Join(right, ", ")
		}
		if s != last {
			text += "\nreturn"
		}
		edits = append(edits, m.instead(s, strings.TrimSpace(text)))
		return true
	})
	return edits
}

// instead returns the edit that puts a text in the place of a node.
func (m *merger) instead(n ast.Node, text string) assemble.Edit {
	return assemble.Edit{Start: m.file.Offset(n.Pos()), End: m.file.Offset(n.End()), Text: []byte(text)}
}

// edited returns the text of ours between two places, with edits, and with upstream's names.
func (m *merger) edited(from, to token.Pos, edits []assemble.Edit) string {
	fields, start := fieldNames(m.ours), m.file.Offset(from)
	var all []assemble.Edit
	for _, e := range edits {
		if e.Start >= start && e.End <= m.file.Offset(to) {
			all = append(all, e)
		}
	}
	ast.Inspect(m.ours.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || m.renamed[id.Name] == "" || id.Pos() < from || id.End() > to || fields[id] {
			return true
		}
		edit := m.instead(id, m.renamed[id.Name])
		if !slices.ContainsFunc(edits, func(e assemble.Edit) bool { return e.Start <= edit.Start && edit.End <= e.End }) {
			all = append(all, edit)
		}
		return true
	})
	for i := range all {
		all[i].Start, all[i].End = all[i].Start-start, all[i].End-start
	}
	text, err := assemble.Splice(m.file.Text(from, to), all)
	if err != nil {
		panic(err) // neither identifiers nor statements overlap
	}
	return string(text)
}
