package samples

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// scrapeTimeout bounds one scrape.
const scrapeTimeout = time.Second

// Target is what is scraped.
type Target struct {
	// URL is where the metrics are served.
	URL string
	// Job is the name under which Prometheus would be told of it.
	Job string
}

// Scrape gets the metrics as they are now. As with Prometheus, they have the labels job and instance, and the time at which
// they were asked for.
func (t Target) Scrape(ctx context.Context, now time.Time) (model.Vector, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	address, err := url.Parse(t.URL)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("scrape %s: %s", t.URL, response.Status)
	}
	vector, err := decode(response, now)
	if err != nil {
		return nil, fmt.Errorf("scrape %s: %w", t.URL, err)
	}
	for _, sample := range vector {
		sample.Metric[model.JobLabel] = model.LabelValue(t.Job)
		sample.Metric[model.InstanceLabel] = model.LabelValue(address.Host)
	}
	return vector, nil
}

func decode(response *http.Response, now time.Time) (model.Vector, error) {
	decoder := expfmt.SampleDecoder{
		Dec:  expfmt.NewDecoder(response.Body, expfmt.ResponseFormat(response.Header)),
		Opts: &expfmt.DecodeOptions{Timestamp: model.TimeFromUnixNano(now.UnixNano())},
	}
	var all model.Vector
	for {
		var family model.Vector
		err := decoder.Decode(&family)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, family...)
	}
}
