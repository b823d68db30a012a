package overhead

import (
	"context"

	"mongofork/bench/internal/scratch"
	"mongofork/bench/internal/workload"
)

// ServerResults are the measurements on a real server.
type ServerResults struct {
	Server string `json:"server"` // its version, and where it came from
	*Results
}

// MeasureServer is Measure on a real server, in a new database, which it drops at the end.
func MeasureServer(ctx context.Context, c Config) (results *Results, err error) {
	err = scratch.Use(ctx, c.URI, workload.Fill, func(database string) error {
		c.Database = database
		results, err = Measure(ctx, c)
		return err
	})
	return results, err
}
