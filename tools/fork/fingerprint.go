package fork

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
)

// Fingerprint identifies what a declaration says: the SHA-256 of its tokens.
// Comments, layout and the declaration's file play no part in it.
type Fingerprint string

// short returns enough of the fingerprint to tell two apart in a message.
func (f Fingerprint) short() string {
	const prefix = len("sha256:") + 12
	if len(f) <= prefix {
		return string(f)
	}
	return string(f[:prefix]) + "…"
}

// fingerprint hashes the tokens of a declaration. A constant whose value
// depends on its place is hashed with its whole group. Several declarations
// (one name in files with different build constraints) give one fingerprint.
func fingerprint(decls ...*Decl) Fingerprint {
	h := sha256.New()
	for _, d := range decls {
		from, to := d.code()
		if d.gen != nil && from != d.gen.Pos() {
			writeToken(h, d.gen.Tok, d.gen.Tok.String())
		}
		writeTokens(h, d.File.text(from, to))
	}
	return Fingerprint("sha256:" + hex.EncodeToString(h.Sum(nil)))
}

// code returns the range of tokens that say what the declaration is, without
// the keyword and the parentheses that others may share.
func (d *Decl) code() (from, to token.Pos) {
	switch {
	case d.fn != nil:
		return d.fn.Type.Func, d.fn.End()
	case d.impliedValue():
		return d.gen.Pos(), d.gen.End()
	default:
		return d.spec.Pos(), d.spec.End()
	}
}

// writeTokens writes the tokens of src. Semicolons before a closing bracket are
// left out, since whether the scanner inserts them depends on line breaks only.
func writeTokens(w io.Writer, src []byte) {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", fset.Base(), len(src)), src, nil, 0)
	pending := false
	for {
		_, tok, lit := s.Scan()
		if pending && tok != token.RPAREN && tok != token.RBRACE && tok != token.EOF {
			writeToken(w, token.SEMICOLON, ";")
		}
		if pending = tok == token.SEMICOLON; pending {
			continue
		}
		if tok == token.EOF {
			return
		}
		if lit == "" {
			lit = tok.String()
		}
		writeToken(w, tok, lit)
	}
}

// writeToken writes one token with its length, so that no two sequences of
// tokens are written alike.
func writeToken(w io.Writer, tok token.Token, lit string) {
	fmt.Fprintf(w, "%d %d %s\n", tok, len(lit), lit)
}
