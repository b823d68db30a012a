package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"mongofork/lab/dashboard/internal/application"
	"mongofork/lab/dashboard/internal/evaluate"
	"mongofork/lab/dashboard/internal/grafana"
	"mongofork/lab/dashboard/internal/picture"
	"mongofork/lab/dashboard/internal/samples"
	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/lab"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/scenario"
	"mongofork/lab/internal/topology"
)

// scrapeInterval is short, as the run is.
const scrapeInterval = time.Second

// caption says what the picture is.
const caption = "Drawn from the dashboard's queries by make dashboard; not a screenshot of Grafana."

type filling struct {
	Dashboard string `arg:"" type:"existingfile" help:"The dashboard (JSON)."`
	Scenario  string `arg:"" type:"existingfile" help:"What happens to the lab (YAML)."`
	Backend   string `required:"" env:"MONGODB_URI" placeholder:"URI" help:"Connection string of the server behind the lab, with one host."`
	Out       string `short:"o" type:"path" placeholder:"FILE" help:"Draw the panels to this file: .svg or .png."`
}

// loads are the clients of the application. The scenario's limits are far below their rates, so that one of them has to
// give up for lack of tokens, and the other, which is in a hurry, for lack of time.
func loads() []application.Load {
	return []application.Load{
		{Client: "orders", Rate: 120, Timeout: 3 * time.Second, Writes: true},
		{Client: "reports", Rate: 20, Timeout: 300 * time.Millisecond},
		{Client: "search", Rate: 60, Timeout: 3 * time.Second, Throttle: true},
	}
}

// run fills the dashboard. Its error says what is wrong with it.
func (c *filling) run(ctx context.Context, stdout, stderr io.Writer) error {
	dashboard, events, err := c.read()
	if err != nil {
		return err
	}
	if problems := dashboard.Check(); len(problems) > 0 {
		return problemsError(c.Dashboard, problems)
	}
	var store samples.Store
	view := grafana.View{From: time.Now(), ScrapeInterval: scrapeInterval}
	summary, err := c.collect(ctx, events, &store, stderr)
	if err != nil {
		return err
	}
	view.To = time.Now()

	panels, problems := evaluate.Dashboard(ctx, dashboard, &store, view)
	fmt.Fprintf(stdout, "%s\n%s\n%d series, scraped every %v for %v\n", evaluate.Table(panels), strings.Join(summary, "\n"),
		store.Len(), scrapeInterval, view.To.Sub(view.From).Round(time.Second))
	if len(problems) > 0 {
		return problemsError(c.Dashboard, problems)
	}
	return c.draw(&picture.Picture{Title: dashboard.Title, Caption: caption, Panels: panels, View: view})
}

func problemsError(name string, problems []string) error {
	return fmt.Errorf("%s:\n  %s", name, strings.Join(problems, "\n  "))
}

// read reads what the command line names.
func (c *filling) read() (*grafana.Dashboard, *scenario.Scenario, error) {
	text, err := os.ReadFile(c.Dashboard)
	if err != nil {
		return nil, nil, err
	}
	dashboard, err := grafana.Parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.Dashboard, err)
	}
	if text, err = os.ReadFile(c.Scenario); err != nil {
		return nil, nil, err
	}
	events, err := scenario.Parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.Scenario, err)
	}
	return dashboard, events, nil
}

// collect runs the lab and the application while the scenario lasts, and scrapes the application's metrics.
func (c *filling) collect(ctx context.Context, events *scenario.Scenario, store *samples.Store, log io.Writer) ([]string, error) {
	l, err := c.openLab(events)
	if err != nil {
		return nil, err
	}
	app, err := application.Connect(l.Endpoints()[0].URI, loads()...)
	if err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	group, serving := errgroup.WithContext(serving)
	group.Go(func() error { return l.Run(serving) })
	group.Go(func() error {
		defer stop()
		if err := app.Prepare(serving); err != nil {
			return err
		}
		err := meanwhile(serving, app, store, func(ctx context.Context) error {
			return events.Run(ctx, l, clock.System{}, slog.New(slog.NewTextHandler(log, nil)))
		})
		return errors.Join(err, app.Close(serving))
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return app.Summary(), ctx.Err()
}

func (c *filling) openLab(events *scenario.Scenario) (*lab.Lab, error) {
	spec, err := topology.ParseSpec(events.Topology)
	if err != nil {
		return nil, err
	}
	backend, err := proxy.ParseBackend(c.Backend)
	if err != nil {
		return nil, err
	}
	return lab.Open(lab.Config{Topology: spec, Backend: backend, Options: topology.Options{ElectionDelay: 500 * time.Millisecond}})
}

// meanwhile lets the application work, and scrapes it, until do is done.
func meanwhile(ctx context.Context, app *application.Application, store *samples.Store, do func(context.Context) error) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	group, working := errgroup.WithContext(working)
	group.Go(func() error { return app.Run(working) })
	group.Go(func() error { return scrape(working, app.URL(), store) })
	group.Go(func() error {
		defer stop()
		return do(working)
	})
	return group.Wait()
}

// scrape scrapes at each interval until the context ends.
func scrape(ctx context.Context, url string, store *samples.Store) error {
	target := samples.Target{URL: url, Job: "shop"}
	ticker := time.NewTicker(scrapeInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			vector, err := target.Scrape(ctx, now)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			store.Add(vector)
		}
	}
}

// draw draws the picture, if it is to be drawn.
func (c *filling) draw(p *picture.Picture) error {
	if c.Out == "" {
		return nil
	}
	var drawn bytes.Buffer
	if err := p.Write(&drawn, strings.TrimPrefix(filepath.Ext(c.Out), ".")); err != nil {
		return fmt.Errorf("draw %s: %w", c.Out, err)
	}
	return os.WriteFile(c.Out, drawn.Bytes(), 0o644)
}
