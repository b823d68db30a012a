package syntax

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"go/scanner"
	"go/token"
)

// Fingerprint identifies what declarations say: the SHA-256 of their tokens. Comments, layout and the file play no part in it. A
// constant whose value depends on its place is hashed with its whole group.
func Fingerprint(decls ...*Decl) string {
	h := sha256.New()
	write := func(tok token.Token, lit string) { fmt.Fprintf(h, "%d %d %s\n", tok, len(lit), lit) }
	for _, d := range decls {
		var from, to token.Pos
		switch {
		case d.Func != nil:
			from, to = d.Func.Type.Func, d.Func.End()
		case d.Implied():
			from, to = d.Gen.Pos(), d.Gen.End()
		default: // without the parentheses that others may share
			from, to = d.Spec.Pos(), d.Spec.End()
			write(d.Gen.Tok, d.Gen.Tok.String())
		}
		tokens(d.File.Text(from, to), write)
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// tokens writes the tokens of src. Semicolons before a closing bracket are left out, since whether the scanner inserts them depends on
// line breaks only.
func tokens(src []byte, write func(tok token.Token, lit string)) {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", fset.Base(), len(src)), src, nil, 0)
	for pending := false; ; {
		_, tok, lit := s.Scan()
		if pending && tok != token.RPAREN && tok != token.RBRACE && tok != token.EOF {
			write(token.SEMICOLON, ";")
		}
		pending = tok == token.SEMICOLON
		if tok == token.EOF {
			return
		}
		if !pending {
			write(tok, cmp.Or(lit, tok.String()))
		}
	}
}
