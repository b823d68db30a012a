package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"mongofork/tools/rig/process"
)

// Summary is the application's counts, as it prints them.
type Summary struct {
	Driver         string  `json:"driver"`
	Operations     int     `json:"operations"`
	Errors         int     `json:"errors"`
	OverloadErrors int     `json:"overloadErrors"`
	LostWrites     int     `json:"lostWrites"`
	Commands       int     `json:"commands"`
	Seconds        float64 `json:"seconds"`
}

// runArm runs the application once while servers shed load.
func runArm(ctx context.Context, cfg Config, uri, app string, s scenario) (*Summary, error) {
	primary, err := primaryOf(ctx, uri)
	if err != nil {
		return nil, err
	}
	load, err := connectOverload(uri, primary, s)
	if err != nil {
		return nil, err
	}
	defer load.close(ctx)
	var summary *Summary
	err = load.during(ctx, func(ctx context.Context) (err error) {
		summary, err = runApp(ctx, cfg, uri, app)
		return err
	})
	return summary, err
}

// runApp runs the application and reads its summary.
func runApp(ctx context.Context, cfg Config, uri, app string) (*Summary, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, armTimeout, fmt.Errorf("the shop had not finished after %v", armTimeout))
	defer cancel()
	cmd := process.Command(ctx, "", append(cfg.Environ, "MONGODB_URI="+uri), app,
		"-app-name", appName,
		"-workers", strconv.Itoa(cfg.Workers),
		"-operations", strconv.Itoa(cfg.Operations),
		"-seed", strconv.FormatInt(cfg.Seed, 10),
	)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, cfg.Progress
	err := cmd.Run()
	process.Reap(cmd)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		// Not wrapped, because the exit code is the shop's.
		return nil, fmt.Errorf("the shop: %v", err)
	}
	var summary Summary
	if err := json.Unmarshal(output.Bytes(), &summary); err != nil {
		return nil, fmt.Errorf("the shop's summary %q: %w", output.Bytes(), err)
	}
	return &summary, nil
}
