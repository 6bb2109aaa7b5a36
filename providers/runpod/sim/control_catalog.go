package sim

import (
	"fmt"
	"slices"
	"strings"
)

// priceChange sets what one GPU of a type costs an hour in a cloud.
type priceChange struct {
	GPU   string  `json:"gpu"`
	Cloud string  `json:"cloud"`
	USD   float64 `json:"usd"`
}

// stockChange sets a band. Without a data center it is that of every one that
// has any stock of the type.
type stockChange struct {
	GPU    string `json:"gpu"`
	Cloud  string `json:"cloud"`
	Center string `json:"data_center"`
	Band   string `json:"band"`
}

// offerOf finds a type's offer in a cloud, making one where there is none.
// mu is held.
func (s *server) offerOf(gpu, cloud string) (*offer, error) {
	g := s.cat.gpu(gpu)
	if g == nil {
		return nil, fmt.Errorf("unknown GPU type %q", gpu)
	}
	at := &g.Secure
	switch strings.ToUpper(cloud) {
	case "", cloudSecure:
	case cloudCommunity:
		at = &g.Community
	default:
		return nil, fmt.Errorf("unknown cloud %q", cloud)
	}
	if *at == nil {
		*at = &offer{MaxCount: 8}
	}
	if (*at).Stock == nil {
		(*at).Stock = map[string]string{}
	}
	return *at, nil
}

func (s *server) setPrice(v priceChange) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.USD < 0 {
		return fmt.Errorf("a price of %v", v.USD)
	}
	o, err := s.offerOf(v.GPU, v.Cloud)
	if err != nil {
		return err
	}
	o.Price = v.USD
	return nil
}

func (s *server) setStock(v stockChange) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	band := strings.ToUpper(v.Band)
	if !slices.Contains(bands, band) {
		return fmt.Errorf("unknown stock %q: one of none, low, medium, high", v.Band)
	}
	o, err := s.offerOf(v.GPU, v.Cloud)
	if err != nil {
		return err
	}
	if v.Center != "" {
		if s.cat.center(v.Center) == nil {
			return fmt.Errorf("unknown data center %q", v.Center)
		}
		o.Stock[v.Center] = band
		return nil
	}
	if len(o.Stock) == 0 {
		o.Stock["EU-RO-1"] = band
	}
	for id := range o.Stock {
		o.Stock[id] = band
	}
	return nil
}
