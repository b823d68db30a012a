package connstring_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

func TestAdaptiveOptions(t *testing.T) {
	tests := []struct {
		name, query string // NAME stands for that of the option
		want, set   bool
		invalid     bool
	}{
		{name: "not given"},
		{name: "true", query: "=true", want: true, set: true},
		{name: "false", query: "=false", set: true},
		{name: "the last one counts", query: "=true&NAME=false", set: true},
		{name: "invalid", query: "=invalid", invalid: true},
		{name: "empty", query: "=", invalid: true},
		{name: "the value is case sensitive", query: "=True", invalid: true},
		{name: "one of two is invalid", query: "=1&NAME=true", invalid: true},
	}
	type option struct {
		value, set func(*connstring.ConnString) bool
	}
	retries := option{
		func(c *connstring.ConnString) bool { return c.AdaptiveRetries },
		func(c *connstring.ConnString) bool { return c.AdaptiveRetriesSet },
	}
	options := map[string]option{"adaptiveRetries": retries, "ADAPTIVEretries": retries}
	for name, option := range options {
		for _, tt := range tests {
			name, option, tt := name, option, tt
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				query := ""
				if tt.query != "" {
					query = name + strings.ReplaceAll(tt.query, "NAME", name)
				}
				got, err := connstring.ParseAndValidate("mongodb://example.com/?other=1&" + query)
				if tt.invalid {
					require.Error(t, err)
					assert.Contains(t, strings.ToLower(err.Error()), `invalid value for "`+strings.ToLower(name)+`"`)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, tt.want, option.value(got))
				assert.Equal(t, tt.set, option.set(got))
				assert.Equal(t, map[string][]string{"other": {"1"}}, got.UnknownOptions)
			})
		}
	}
}
