package sim

import (
	"net/http"
	"net/url"
	"sort"
	"strings"
)

// Operations, as faults and the journal name them.
const (
	opListPods       = "list pods"
	opCreatePod      = "create pod"
	opReadPod        = "read pod"
	opUpdatePod      = "update pod"
	opDeletePod      = "delete pod"
	opActPod         = "act on pod"
	opReadLog        = "read pod log"
	opListGPUs       = "list gpu types"
	opReadGPU        = "read gpu type"
	opListCPUs       = "list cpu types"
	opReadCPU        = "read cpu type"
	opListCenters    = "list data centers"
	opReadCenter     = "read data center"
	opListPublic     = "list public templates"
	opListVolumes    = "list volumes"
	opCreateVolume   = "create volume"
	opReadVolume     = "read volume"
	opUpdateVolume   = "update volume"
	opDeleteVolume   = "delete volume"
	opListSecrets    = "list secrets"
	opCreateSecret   = "create secret"
	opReadSecret     = "read secret"
	opUpdateSecret   = "update secret"
	opDeleteSecret   = "delete secret"
	opListTemplates  = "list templates"
	opCreateTemplate = "create template"
	opReadTemplate   = "read template"
	opUpdateTemplate = "update template"
	opDeleteTemplate = "delete template"
	opListKeys       = "list ssh keys"
	opReplaceKeys    = "replace ssh keys"
	opListRegistries = "list registries"
	opCreateRegistry = "create registry"
	opReadRegistry   = "read registry"
	opDeleteRegistry = "delete registry"
	opListClusters   = "list clusters"
	opListEndpoints  = "list endpoints"
	opReadBilling    = "read billing"
)

// endpoint is what one method of one path does.
type endpoint struct {
	op string
	do func(*server, *call) reply
}

// routes are the paths below /v2; {} stands for an object's ID.
var routes = map[string]map[string]endpoint{
	"pods":                    {"GET": {opListPods, (*server).listPods}, "POST": {opCreatePod, (*server).createPod}},
	"pods/{}":                 {"GET": {opReadPod, (*server).readPod}, "PATCH": {opUpdatePod, (*server).updatePod}, "DELETE": {opDeletePod, (*server).removePod}},
	"pods/{}/action":          {"POST": {opActPod, (*server).actPod}},
	"pods/{}/logs":            {"GET": {opReadLog, (*server).readLog}},
	"catalog/gpus":            {"GET": {opListGPUs, (*server).listGPUs}},
	"catalog/gpus/{}":         {"GET": {opReadGPU, (*server).readGPU}},
	"catalog/cpus":            {"GET": {opListCPUs, (*server).listCPUs}},
	"catalog/cpus/{}":         {"GET": {opReadCPU, (*server).readCPU}},
	"catalog/datacenters":     {"GET": {opListCenters, (*server).listCenters}},
	"catalog/datacenters/{}":  {"GET": {opReadCenter, (*server).readCenter}},
	"catalog/templates":       {"GET": {opListPublic, (*server).listPublicTemplates}},
	"network-volumes":         {"GET": {opListVolumes, (*server).listVolumes}, "POST": {opCreateVolume, (*server).createVolume}},
	"network-volumes/{}":      {"GET": {opReadVolume, (*server).readVolume}, "PATCH": {opUpdateVolume, (*server).updateVolume}, "DELETE": {opDeleteVolume, (*server).deleteVolume}},
	"account/secrets":         {"GET": {opListSecrets, (*server).listSecrets}, "POST": {opCreateSecret, (*server).createSecret}},
	"account/secrets/{}":      {"GET": {opReadSecret, (*server).readSecret}, "PATCH": {opUpdateSecret, (*server).updateSecret}, "DELETE": {opDeleteSecret, (*server).deleteSecret}},
	"account/ssh-keys":        {"GET": {opListKeys, (*server).listKeys}, "PUT": {opReplaceKeys, (*server).replaceKeys}},
	"templates":               {"GET": {opListTemplates, (*server).listTemplates}, "POST": {opCreateTemplate, (*server).createTemplate}},
	"templates/{}":            {"GET": {opReadTemplate, (*server).readTemplate}, "PATCH": {opUpdateTemplate, (*server).updateTemplate}, "DELETE": {opDeleteTemplate, (*server).deleteTemplate}},
	"registries":              {"GET": {opListRegistries, (*server).listRegistries}, "POST": {opCreateRegistry, (*server).createRegistry}},
	"registries/{}":           {"GET": {opReadRegistry, (*server).readRegistry}, "DELETE": {opDeleteRegistry, (*server).deleteRegistry}},
	"clusters":                {"GET": {opListClusters, emptyList("clusters")}},
	"serverless":              {"GET": {opListEndpoints, emptyList("endpoints")}},
	"billing":                 {"GET": {opReadBilling, (*server).billAll}},
	"billing/pods":            {"GET": {opReadBilling, (*server).billPods}},
	"billing/network-volumes": {"GET": {opReadBilling, (*server).billVolumes}},
}

// match finds the endpoint of a request. Without one, allow lists the methods
// that the path has.
func match(r *http.Request) (ep *endpoint, id, allow string) {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/v2/"), "/")
	for i, part := range parts {
		text, err := url.PathUnescape(part)
		if err != nil {
			return nil, "", ""
		}
		parts[i] = text
	}
	methods, ok := routes[strings.Join(parts, "/")]
	if !ok {
		for i := 1; i < len(parts); i++ {
			pattern := append(append([]string(nil), parts...)[:i], "{}")
			pattern = append(pattern, parts[i+1:]...)
			if methods, ok = routes[strings.Join(pattern, "/")]; ok && parts[i] != "" {
				id = parts[i]
				break
			}
		}
	}
	if !ok {
		return nil, "", ""
	}
	found, ok := methods[r.Method]
	if !ok {
		var names []string
		for m := range methods {
			names = append(names, m)
		}
		sort.Strings(names)
		return nil, "", strings.Join(names, ", ")
	}
	return &found, id, ""
}

func emptyList(key string) func(*server, *call) reply {
	return func(*server, *call) reply { return ok(map[string]any{key: []any{}}) }
}
