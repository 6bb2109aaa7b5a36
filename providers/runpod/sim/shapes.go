package sim

import (
	"maps"
	"regexp"
)

// The bodies that the API takes, as its documentation gives them.
var (
	text     = shape{kind: "string"}
	name     = shape{kind: "string", min: 1}
	flag     = shape{kind: "boolean"}
	texts    = shape{kind: "array", items: &text}
	count    = shape{kind: "integer", min: 1}
	version  = shape{kind: "string", pattern: regexp.MustCompile(`^\d+\.\d+$`)}
	versions = shape{kind: "array", items: &version}

	persistentShape = shape{kind: "object", required: []string{"size", "path"}, fields: map[string]shape{
		"size": {kind: "integer", min: 10}, "path": name}}
	networkShape = shape{kind: "object", required: []string{"volumeId", "path"}, fields: map[string]shape{
		"volumeId": name, "path": name}}
	mountsShape = shape{kind: "object", fields: map[string]shape{
		"persistent": persistentShape, "network": {kind: "array", max: 1, items: &networkShape}}}

	containerFields = map[string]shape{
		"image": text, "args": text, "disk": count, "env": {kind: "map", items: &text},
		"ports": texts, "registry": {kind: "string", nullable: true},
		"cmd": texts, "entrypoint": texts,
	}
	gpuShape = shape{kind: "object", required: []string{"id"}, fields: map[string]shape{
		"id": text, "count": count, "allowedCudaVersions": versions, "minCudaVersion": version,
		"minRamPerGpu": count, "minVcpuCountPerGpu": count}}
	cpuShape = shape{kind: "object", required: []string{"id"}, fields: map[string]shape{
		"id": text, "vcpuCount": {kind: "integer", min: 2}}}

	createPodShape = shape{kind: "object", required: []string{"name"}, fields: with(containerFields, map[string]shape{
		"name": name, "cloud": {kind: "string", enum: []string{"SECURE", "COMMUNITY"}}, "cpu": cpuShape,
		"dataCenterIds": texts, "globalNetworking": flag, "gpu": gpuShape, "mounts": mountsShape,
		"startJupyter": flag, "startSsh": flag, "templateId": name})}
	updatePodShape = shape{kind: "object", fields: with(containerFields, map[string]shape{
		"name": name, "globalNetworking": flag, "locked": flag, "mounts": mountsShape, "templateId": name})}
	actionShape = shape{kind: "object", required: []string{"action"}, fields: map[string]shape{
		"action": {kind: "string", enum: []string{"start", "stop", "restart", "terminate"}}}}

	volumeSize        = shape{kind: "integer", min: 10, max: 4096}
	createVolumeShape = shape{kind: "object", required: []string{"name", "size", "dataCenter"}, fields: map[string]shape{
		"name": name, "size": volumeSize, "dataCenter": name,
		"type": {kind: "string", enum: []string{"STANDARD", "HIGH_PERFORMANCE"}}}}
	updateVolumeShape = shape{kind: "object", fields: map[string]shape{"name": name, "size": volumeSize}}

	secretName        = shape{kind: "string", min: 1, max: 191, pattern: regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.\-/]*$`)}
	secretText        = shape{kind: "string", max: 65535}
	createSecretShape = shape{kind: "object", required: []string{"name", "value"}, fields: map[string]shape{
		"name": secretName, "value": name, "description": secretText}}
	updateSecretShape = shape{kind: "object", fields: map[string]shape{"value": name, "description": secretText}}

	templateMounts = shape{kind: "object", fields: map[string]shape{"persistent": persistentShape}}
	templateFields = with(containerFields, map[string]shape{
		"name": name, "image": name, "public": flag, "serverless": flag, "startSsh": flag, "startJupyter": flag,
		"allowedCudaVersions": versions, "mounts": templateMounts,
		"category": {kind: "string", enum: []string{"CPU", "NVIDIA", "AMD"}}})
	createTemplateShape = shape{kind: "object", required: []string{"name", "image"}, fields: templateFields}
	updateTemplateShape = shape{kind: "object", fields: templateFields}

	sshKey    = shape{kind: "string", pattern: regexp.MustCompile(`^(ssh|ecdsa|sk)-[^\s]+ [^\s]+([ \t][^\n\r]*)?$`)}
	keysShape = shape{kind: "object", required: []string{"keys"}, fields: map[string]shape{
		"keys": {kind: "array", items: &sshKey}}}
	registryShape = shape{kind: "object", required: []string{"name", "username", "password"}, fields: map[string]shape{
		"name": {kind: "string", min: 1, max: 191}, "username": {kind: "string", min: 1, max: 191},
		"password": {kind: "string", min: 1, max: 16384}}}
)

func with(base, more map[string]shape) map[string]shape {
	out := maps.Clone(base)
	maps.Copy(out, more)
	return out
}
