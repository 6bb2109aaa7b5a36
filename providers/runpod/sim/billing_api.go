package sim

import (
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// window is the part of the bill that a query asks for.
type window struct {
	from, to time.Time
	size     string
}

// readWindow reads the query of a billing endpoint and widens it to the edges
// of its buckets.
func readWindow(q url.Values, now time.Time) (window, *reply) {
	w := window{from: now.AddDate(0, 0, -30), to: now, size: "day"}
	bad := func(text string) (window, *reply) { r := unprocessable(text); return w, &r }
	if v := q.Get("bucketSize"); v != "" {
		if !slices.Contains([]string{"hour", "day", "week", "month", "year"}, v) {
			return bad("query.bucketSize: value must be one of 'hour', 'day', 'week', 'month', 'year'")
		}
		w.size = v
	}
	for name, at := range map[string]*time.Time{"startTime": &w.from, "endTime": &w.to} {
		if v := q.Get(name); v != "" {
			t, err := time.Parse(time.RFC3339Nano, v)
			if err != nil {
				return bad("query." + name + ": must be an RFC 3339 time")
			}
			*at = t
		}
	}
	if v := q.Get("lastN"); v != "" {
		n, err := strconv.Atoi(v)
		switch {
		case err != nil || n < 1:
			return bad("query.lastN: must be an integer of at least 1")
		case q.Get("startTime") != "" || q.Get("endTime") != "":
			r := badRequest("lastN excludes startTime and endTime")
			return w, &r
		}
		w.from, w.to = floor(now, w.size), now
		for range n - 1 {
			w.from = floor(w.from.Add(-time.Second), w.size)
		}
	}
	w.from = floor(w.from, w.size)
	if end := floor(w.to, w.size); end.Before(w.to) {
		w.to = next(end, w.size)
	}
	return w, nil
}

// floor is the start of the bucket that holds t.
func floor(t time.Time, size string) time.Time {
	t = t.UTC()
	y, m, d := t.Date()
	switch size {
	case "hour":
		return t.Truncate(time.Hour)
	case "week":
		return time.Date(y, m, d-(int(t.Weekday())+6)%7, 0, 0, 0, 0, time.UTC)
	case "month":
		return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	case "year":
		return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func next(t time.Time, size string) time.Time {
	switch size {
	case "hour":
		return t.Add(time.Hour)
	case "week":
		return t.AddDate(0, 0, 7)
	case "month":
		return t.AddDate(0, 1, 0)
	case "year":
		return t.AddDate(1, 0, 0)
	}
	return t.AddDate(0, 0, 1)
}

// buckets sums a bill by the buckets of the window, in order.
func (b *billItem) buckets(w window) ([]time.Time, map[time.Time]rates) {
	sums := map[time.Time]rates{}
	for hour, r := range b.Hours {
		at := floor(time.Unix(hour*3600, 0), w.size)
		if at.Before(w.from) || !at.Before(w.to) {
			continue
		}
		sum := sums[at]
		sum.add(*r, 1)
		sums[at] = sum
	}
	return slices.SortedFunc(maps.Keys(sums), time.Time.Compare), sums
}

func cents(usd float64) float64 { return math.Round(usd*1e6) / 1e6 }

func (s *server) billPods(c *call) reply {
	return s.bill(c, "podId", "uniquePodCount", false, func(r rates) map[string]any {
		return map[string]any{"totalAmount": cents(r.sum()), "gpuAmount": cents(r.GPU), "cpuAmount": cents(r.CPU), "diskAmount": cents(r.Disk)}
	})
}

func (s *server) billVolumes(c *call) reply {
	return s.bill(c, "networkVolumeId", "uniqueNetworkVolumeCount", true, func(r rates) map[string]any {
		return map[string]any{"totalAmount": cents(r.sum()), "standardAmount": cents(r.Disk), "highPerformanceAmount": cents(r.High)}
	})
}

// bill answers the records of pods or of volumes, one for each and bucket.
func (s *server) bill(c *call, idKey, countKey string, volumes bool, amounts func(rates) map[string]any) reply {
	q := c.r.URL.Query()
	w, refused := readWindow(q, time.Now())
	if refused != nil {
		return *refused
	}
	only := q.Get(idKey)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bills.settle(time.Now(), s.speed)
	records, unique, total := []any{}, 0, rates{}
	for _, id := range slices.Sorted(maps.Keys(s.bills.items)) {
		item := s.bills.items[id]
		if item.Volume != volumes || only != "" && id != only {
			continue
		}
		order, sums := item.buckets(w)
		if len(order) > 0 {
			unique++
		}
		for _, at := range order {
			record := amounts(sums[at])
			record["startTime"], record["endTime"], record[idKey] = at.Format(time.RFC3339), next(at, w.size).Format(time.RFC3339), id
			records = append(records, record)
			total.add(sums[at], 1)
		}
	}
	query := w.view()
	query[idKey] = nil
	if only != "" {
		query[idKey] = only
	}
	return ok(map[string]any{"records": records, "metadata": map[string]any{
		"query": query, "recordCount": len(records), countKey: unique, "totals": amounts(total)}})
}

func (w window) view() map[string]any {
	return map[string]any{"startTime": w.from.Format(time.RFC3339), "endTime": w.to.Format(time.RFC3339), "bucketSize": w.size}
}

// billAll answers the whole account's bill.
func (s *server) billAll(c *call) reply {
	w, refused := readWindow(c.r.URL.Query(), time.Now())
	if refused != nil {
		return *refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bills.settle(time.Now(), s.speed)
	pods, volumes := map[time.Time]rates{}, map[time.Time]rates{}
	for _, item := range s.bills.items {
		into := pods
		if item.Volume {
			into = volumes
		}
		_, sums := item.buckets(w)
		for at, r := range sums {
			sum := into[at]
			sum.add(r, 1)
			into[at] = sum
		}
	}
	all := maps.Clone(pods)
	maps.Copy(all, volumes)
	records := []any{}
	var p, v rates
	for _, at := range slices.SortedFunc(maps.Keys(all), time.Time.Compare) {
		record := accountAmounts(pods[at], volumes[at])
		record["startTime"], record["endTime"] = at.Format(time.RFC3339), next(at, w.size).Format(time.RFC3339)
		records = append(records, record)
		p.add(pods[at], 1)
		v.add(volumes[at], 1)
	}
	total := accountAmounts(p, v)
	return ok(map[string]any{"records": records, "metadata": map[string]any{
		"query": w.view(), "recordCount": len(records), "totals": total}})
}

func accountAmounts(pods, volumes rates) map[string]any {
	out := map[string]any{
		"totalAmount": cents(pods.sum() + volumes.sum()), "podGpuAmount": cents(pods.GPU), "podCpuAmount": cents(pods.CPU),
		"podDiskAmount": cents(pods.Disk), "storageStandardAmount": cents(volumes.Disk), "storageHighPerformanceAmount": cents(volumes.High),
	}
	for _, k := range []string{"serverlessGpu", "serverlessCpu", "serverlessDisk", "serverlessFee", "endpoint", "clusterGpu", "clusterDisk", "clusterNetworking"} {
		out[k+"Amount"] = 0.0
	}
	return out
}
