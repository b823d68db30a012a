package suite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"":                                      "",
		"no URI, a@b":                           "no URI, a@b",
		"mongodb://h:27017/?replicaSet=rs0":     "mongodb://h:27017/?replicaSet=rs0",
		"mongodb://root:secret@h/":              "mongodb://xxxxx@h/",
		"MongoDB+SRV://root:secret@h/":          "MongoDB+SRV://xxxxx@h/",
		"lab --backend mongodb://u:secret@a,b/": "lab --backend mongodb://xxxxx@a,b/",
		"mongodb://u:se@cr/et@h/ then more":     "mongodb://xxxxx@h/ then more",
		"parse \"mongodb://u:secret@h\": no":    "parse \"mongodb://xxxxx@h\": no",
		"a=mongodb://u:secret@h\nb=mongodb+srv://v:secret@i":                 "a=mongodb://xxxxx@h\nb=mongodb+srv://xxxxx@i",
		"mongodb://h/?tlsCertificateKeyFilePassword=secret":                  "mongodb://h/?tlsCertificateKeyFilePassword=xxxxx",
		"mongodb://u:secret@h/?authMechanismProperties=SESSION_TOKEN:secret": "mongodb://xxxxx@h/?authMechanismProperties=xxxxx",
		"mongodb://h/?proxyPassword=secret 'x'":                              "mongodb://h/?proxyPassword=xxxxx 'x'",
	}
	for text, want := range tests {
		got := Redact(text)
		assert.Equal(t, want, got)
		assert.NotContains(t, got, "secret")
		assert.Equal(t, want, Redact(got), "twice")
	}
}

// TestPanic shows why a test panicked, and what led there, before all that is below.
func TestPanic(t *testing.T) {
	t.Parallel()
	var r Result
	r.fail("a", "failed", strings.Repeat("log\n", 20)+"panic: the reason\n"+strings.Repeat("frame\n", 40))
	assert.Equal(t, "panic: the reason"+strings.Repeat("\n    frame", excerptLines-1), r.Failures[0].Output)
}
