package openapitest

// Amendment is a place where the published description is older than the API
// that this program is made for. Requests and answers are checked against the
// newer rule.
type Amendment struct {
	// Rule is what holds instead, Why how that is known.
	Rule, Why string

	document string
	apply    func(root map[string]any)
}

const newer = "the description that Runpod's documentation published in September 2026 has it; the copy at hand is of August"

// Amendments lists every place.
var Amendments = []Amendment{
	{
		Rule: "a pod is created with cmd and entrypoint, lists of strings", Why: newer,
		document: "openapi.json",
		apply: func(root map[string]any) {
			words := map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
			for _, raw := range schema(root, "CreatePodRequest")["allOf"].([]any) {
				if properties, ok := raw.(map[string]any)["properties"].(map[string]any); ok {
					properties["cmd"], properties["entrypoint"] = words, words
				}
			}
		},
	},
	{
		Rule: "lists of pods and templates take cursor and limit (1 to 1000) and answer with pagination", Why: newer,
		document: "openapi.json",
		apply: func(root map[string]any) {
			pagination := map[string]any{
				"type": "object", "required": []any{"nextCursor", "hasNextPage"},
				"properties": map[string]any{
					"nextCursor": map[string]any{"type": []any{"string", "null"}}, "hasNextPage": map[string]any{"type": "boolean"},
				},
			}
			for _, name := range []string{"ListPodsResponse", "ListTemplatesResponse"} {
				schema(root, name)["properties"].(map[string]any)["pagination"] = pagination
			}
			for _, path := range []string{"/v2/pods", "/v2/templates"} {
				get := root["paths"].(map[string]any)[path].(map[string]any)["get"].(map[string]any)
				parameters, _ := get["parameters"].([]any)
				get["parameters"] = append(parameters,
					map[string]any{"name": "cursor", "in": "query", "schema": map[string]any{"type": "string", "minLength": 1.0}},
					map[string]any{"name": "limit", "in": "query", "schema": map[string]any{"type": "integer", "minimum": 1.0, "maximum": 1000.0}})
			}
		},
	},
}

func schema(root map[string]any, name string) map[string]any {
	return root["components"].(map[string]any)["schemas"].(map[string]any)[name].(map[string]any)
}
