// Package redact removes passwords from output.
package redact

import "regexp"

// mask stands where something was removed.
const mask = "xxxxx"

var (
	// user is the part before the host of a connection string. An unescaped password, which may be why the string was refused,
	// can contain the characters that end it, so the last @ counts.
	user = regexp.MustCompile(`(?i)(mongodb(?:\+srv)?://)[^\s"'` + "`" + `]*@`)
	// option is an option of a connection string that may hold a secret.
	option = regexp.MustCompile(
		`(?i)\b((?:tlsCertificateKeyFilePassword|sslClientCertificateKeyPassword|authMechanismProperties|proxyPassword)=)` +
			`[^&\s"'` + "`" + `]+`)
)

// URIs returns a text without the users, passwords and other secrets of the connection strings in it.
func URIs(text string) string {
	text = user.ReplaceAllString(text, "${1}"+mask+"@")
	return option.ReplaceAllString(text, "${1}"+mask)
}
