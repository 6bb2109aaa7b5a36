package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Client talks to the control part of a running simulator.
type Client struct {
	// URL is the simulator's address, without a path.
	URL string
	// HTTP sends the requests; nil means one with a limit of 30 seconds.
	HTTP *http.Client
}

// Find gives a client for the simulator that serves a home. The error is
// fs.ErrNotExist where none does; one that was killed counts as none.
func Find(ctx context.Context, home string) (*Client, error) {
	a, err := ReadAddress(home)
	if err != nil {
		return nil, err
	}
	c := &Client{URL: a.URL}
	st, err := c.Status(ctx)
	if err != nil || st.PID != a.PID {
		return nil, fmt.Errorf("no simulator answers at %s: %w", a.URL, fs.ErrNotExist)
	}
	return c, nil
}

// Status tells what the simulator holds.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var st Status
	return st, c.do(ctx, "GET", "status", nil, &st)
}

// Stop ends the simulator, and every pod with it. It returns at once; the
// address file is gone when it has ended.
func (c *Client) Stop(ctx context.Context) error { return c.do(ctx, "POST", "stop", nil, nil) }

// Reset empties the account, its bill, the faults, the journal, and restores
// the catalog.
func (c *Client) Reset(ctx context.Context) error { return c.do(ctx, "POST", "reset", nil, nil) }

// Fault arms a fault by name; see FaultNames.
func (c *Client) Fault(ctx context.Context, f Fault) error {
	return c.do(ctx, "POST", "fault", f, nil)
}

// ClearFaults disarms everything.
func (c *Client) ClearFaults(ctx context.Context) error {
	return c.do(ctx, "POST", "fault/clear", nil, nil)
}

// faultFile is an answers file on its way to the simulator.
type faultFile struct {
	Answers  json.RawMessage `json:"answers"`
	Catalog  json.RawMessage `json:"catalog,omitempty"`
	Sequence int             `json:"sequence,omitempty"`
}

// FaultFile arms a file of answers, in the place of whatever was armed, and
// makes the catalog.json beside it, where there is one, the catalog. sequence
// picks one of several in the file; 0 and 1 are the first.
func (c *Client) FaultFile(ctx context.Context, path string, sequence int) error {
	f := faultFile{Sequence: sequence}
	var err error
	if f.Answers, err = os.ReadFile(path); err != nil {
		return err
	}
	if !json.Valid(f.Answers) {
		return fmt.Errorf("%s is not JSON", path)
	}
	f.Catalog, err = os.ReadFile(filepath.Join(filepath.Dir(path), "catalog.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return c.do(ctx, "POST", "fault/file", f, nil)
}

// Catalog gives the simulator's catalog as JSON.
func (c *Client) Catalog(ctx context.Context) (json.RawMessage, error) {
	var out json.RawMessage
	return out, c.do(ctx, "GET", "catalog", nil, &out)
}

// SetPrice sets what one GPU of a type costs an hour, in USD, in the secure or
// community cloud.
func (c *Client) SetPrice(ctx context.Context, gpu, cloud string, usd float64) error {
	return c.do(ctx, "POST", "price", priceChange{GPU: gpu, Cloud: cloud, USD: usd}, nil)
}

// SetStock sets the stock of a type to none, low, medium or high in a data
// center, or in every one that lists it.
func (c *Client) SetStock(ctx context.Context, gpu, cloud, dataCenter, band string) error {
	return c.do(ctx, "POST", "stock", stockChange{GPU: gpu, Cloud: cloud, Center: dataCenter, Band: band}, nil)
}

// Adjust changes speed, balance or the time of a pull.
func (c *Client) Adjust(ctx context.Context, v Settings) error {
	return c.do(ctx, "POST", "settings", v, nil)
}

// Journal gives the requests after the one of that number; 0 gives all.
func (c *Client) Journal(ctx context.Context, since int64) ([]Request, error) {
	var out struct{ Requests []Request }
	return out.Requests, c.do(ctx, "GET", fmt.Sprintf("journal?since=%d", since), nil, &out)
}

func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.URL+"/sim/"+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("X-Overbrainer-Sim", "1")
	client := c.HTTP
	if client == nil {
		client = &http.Client{Timeout: 30 * time.Second}
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("simulator: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("simulator: %w", err)
	}
	if resp.StatusCode >= 400 {
		var p struct{ Detail string }
		_ = json.Unmarshal(data, &p)
		return fmt.Errorf("simulator: %s", p.Detail)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}
