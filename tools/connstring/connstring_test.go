package connstring

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWith(t *testing.T) {
	assert.Equal(t, "mongodb://a,b/?x=1&y=2", With("mongodb://a,b", "x=1", "", "y=2"))
	assert.Equal(t, "mongodb://a/admin?x=1", With("mongodb://a/admin", "x=1"))
	assert.Equal(t, "mongodb://a/?r=s&x=1", With("mongodb://a/?r=s", "x=1"))
	assert.Equal(t, "mongodb://a", With("mongodb://a", ""))
}
