package sim

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// gpuQuery is the query of the two GPU endpoints.
type gpuQuery struct {
	availability bool
	want         want
}

var (
	countryCodes = regexp.MustCompile(`^[A-Z]{2}(,[A-Z]{2})*$`)
	cudaList     = regexp.MustCompile(`^\d+\.\d+(,\d+\.\d+)*$`)
	cudaFloor    = regexp.MustCompile(`^\d+(\.\d+)?$`)
)

// readGPUQuery applies the rules of the filters: malformed values are 422,
// combinations that make no sense 400, unknown parameters nothing.
func readGPUQuery(q url.Values) (gpuQuery, *reply) {
	out := gpuQuery{want: want{cloud: cloudSecure, count: 1}}
	bad := func(text string) (gpuQuery, *reply) { r := unprocessable(text); return out, &r }
	rule := func(text string) (gpuQuery, *reply) { r := badRequest(text); return out, &r }
	switch q.Get("include") {
	case "":
	case "AVAILABILITY":
		out.availability = true
	default:
		return bad("query.include: value must be one of 'AVAILABILITY'")
	}
	for _, f := range []string{"product", "count", "cloud", "countryCodes", "cudaVersions", "minCudaVersion"} {
		if q.Get(f) != "" && !out.availability {
			return rule(f + " requires include=AVAILABILITY")
		}
	}
	if out.availability && q.Get("product") == "" {
		return rule("product is required with include=AVAILABILITY")
	}
	for p := range strings.SplitSeq(q.Get("product"), ",") {
		if p != "" && !slices.Contains([]string{"POD", "CLUSTER", "SERVERLESS"}, p) {
			return bad("query.product: value must be one of 'POD', 'CLUSTER', 'SERVERLESS'")
		}
	}
	if v := q.Get("count"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return bad("query.count: must be an integer of at least 1")
		}
		out.want.count = n
	}
	if v := q.Get("cloud"); v != "" {
		if v != cloudSecure && v != cloudCommunity {
			return bad("query.cloud: value must be one of 'SECURE', 'COMMUNITY'")
		}
		out.want.cloud = v
	}
	if v := q.Get("countryCodes"); v != "" {
		if !countryCodes.MatchString(v) {
			return bad("query.countryCodes: must be upper-case codes of two letters")
		}
		out.want.countries = strings.Split(v, ",")
	}
	if v := q.Get("cudaVersions"); v != "" {
		if !cudaList.MatchString(v) {
			return bad("query.cudaVersions: must be versions like 12.8")
		}
		out.want.cuda = strings.Split(v, ",")
	}
	if v := q.Get("minCudaVersion"); v != "" {
		if !cudaFloor.MatchString(v) {
			return bad("query.minCudaVersion: must be a version like 12 or 12.8")
		}
		if len(out.want.cuda) > 0 {
			return rule("cudaVersions and minCudaVersion are mutually exclusive")
		}
		out.want.minCUDA = v
	}
	return out, nil
}

func (s *server) listGPUs(c *call) reply {
	q, refused := readGPUQuery(c.r.URL.Query())
	if refused != nil {
		return *refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []any{}
	for _, g := range s.cat.GPUs {
		v := s.cat.gpuView(g, q)
		if len(q.want.countries) > 0 && v["availability"] == bandNone {
			continue
		}
		list = append(list, v)
	}
	return ok(map[string]any{"gpus": list})
}

func (s *server) readGPU(c *call) reply {
	q, refused := readGPUQuery(c.r.URL.Query())
	if refused != nil {
		return *refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.cat.gpu(c.id)
	if g == nil {
		return notFound()
	}
	return ok(s.cat.gpuView(g, q))
}

// gpuView is a GPU type as the API shows it.
func (c *catalog) gpuView(g *gpuType, q gpuQuery) map[string]any {
	price := map[string]any{"secure": 0.0, "community": 0.0}
	most := map[string]any{"secure": 0, "community": 0}
	for key, o := range map[string]*offer{"secure": g.Secure, "community": g.Community} {
		if o != nil {
			price[key], most[key] = o.Price, o.MaxCount
		}
	}
	if g.Serverless > 0 {
		price["serverless"] = g.Serverless
	}
	v := map[string]any{
		"id": g.ID, "name": g.Name, "pool": nil, "manufacturer": g.maker(), "memory": g.Memory,
		"secure": g.Secure.listed(), "community": g.Community.listed(), "price": price, "maxCount": most,
		"releaseStage": "GA",
	}
	if g.Pool != "" {
		v["pool"] = g.Pool
	}
	if !q.availability {
		return v
	}
	best, places := 0, []any{}
	for _, d := range c.Centers {
		if band := c.stock(g, d.ID, q.want); band != bandNone {
			best = max(best, slices.Index(bands, band))
			places = append(places, map[string]any{"id": d.ID, "name": d.ID, "availability": band})
		}
	}
	v["availability"] = bands[best]
	if len(places) > 0 {
		v["dataCenters"] = places
	}
	if len(g.CUDA) > 0 {
		list := []any{}
		for _, ver := range g.CUDA {
			w := q.want
			w.cuda, w.minCUDA = []string{ver}, ""
			_, there := c.place(g, w)
			list = append(list, map[string]any{"version": ver, "available": there})
		}
		v["cudaVersions"] = list
	}
	return v
}

func (s *server) listPublicTemplates(c *call) reply {
	switch c.r.URL.Query().Get("source") {
	case "", "official", "verified", "community":
		return ok(map[string]any{"templates": []any{}})
	}
	return reply{status: http.StatusUnprocessableEntity, body: unprocessable("query.source: value must be one of 'official', 'verified', 'community'").body}
}
