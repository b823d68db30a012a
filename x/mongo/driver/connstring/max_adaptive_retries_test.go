package connstring_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

func TestMaxAdaptiveRetries(t *testing.T) {
	tests := []struct {
		query   string
		want    uint
		set     bool
		invalid bool
	}{
		{query: "other=1"},
		{query: "maxAdaptiveRetries=0", want: 0, set: true},
		{query: "maxAdaptiveRetries=2", want: 2, set: true},
		{query: "MAXadaptiveretries=7", want: 7, set: true},
		{query: "maxAdaptiveRetries=2&maxAdaptiveRetries=3", want: 3, set: true},
		{query: "maxAdaptiveRetries=-1", invalid: true},
		{query: "maxAdaptiveRetries=true", invalid: true},
		{query: "maxAdaptiveRetries=1.5", invalid: true},
		{query: "maxAdaptiveRetries=", invalid: true},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			got, err := connstring.ParseAndValidate("mongodb://example.com/?" + tt.query)
			if tt.invalid {
				require.Error(t, err)
				assert.Contains(t, strings.ToLower(err.Error()), `invalid value for "maxadaptiveretries"`)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, got.MaxAdaptiveRetries)
			assert.Equal(t, tt.set, got.MaxAdaptiveRetriesSet)
			for unknown := range got.UnknownOptions {
				assert.Equal(t, "other", unknown)
			}
		})
	}
}
