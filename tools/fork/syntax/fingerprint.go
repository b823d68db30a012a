package syntax

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

// FingerprintOf hashes the tokens of a declaration. A constant whose value
// depends on its place is hashed with its whole group. Several declarations
// (one name in files with different build constraints) give one fingerprint.
func FingerprintOf(decls ...*Decl) Fingerprint {
	h := sha256.New()
	for _, d := range decls {
		from, to := d.code()
		if d.Gen != nil && from != d.Gen.Pos() {
			writeToken(h, d.Gen.Tok, d.Gen.Tok.String())
		}
		writeTokens(h, d.File.Text(from, to))
	}
	return Fingerprint("sha256:" + hex.EncodeToString(h.Sum(nil)))
}

// code returns the range of tokens that say what the declaration is, without
// the keyword and the parentheses that others may share.
func (d *Decl) code() (from, to token.Pos) {
	switch {
	case d.Func != nil:
		return d.Func.Type.Func, d.Func.End()
	case d.ImpliedValue():
		return d.Gen.Pos(), d.Gen.End()
	default:
		return d.Spec.Pos(), d.Spec.End()
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
