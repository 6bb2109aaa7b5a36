package config

import "github.com/zclconf/go-cty/cty"

// blockSchema is the form of a block.
type blockSchema struct {
	// label is what the block's label is called; "" = none.
	label string
	// example is how to write one, for messages.
	example string
	attrs   []attrSchema
	blocks  map[string]*blockSchema
	// open: any attribute is taken (locals, provider blocks).
	open bool
	// constant: its attributes are read as they are written, and later.
	constant bool
	// many: a nested block may stand several times.
	many bool
	// repeats: for_each and count are taken.
	repeats bool
}

// attrSchema is the form of an argument.
type attrSchema struct {
	name string
	// typ is what the value is converted to; cty.DynamicPseudoType leaves it.
	typ      cty.Type
	required bool
	// late: attributes of runs and of volumes to come may stand here.
	late bool
	// sensitive: sensitive values may stand here.
	sensitive bool
	// secret: secret blocks may stand here.
	secret bool
	// static: the expression is read as it is written, not evaluated.
	static bool
	// ref: the value is a reference to a block of this kind.
	ref string
	// example is how a value looks.
	example string
}

func (b *blockSchema) attr(name string) *attrSchema {
	for i := range b.attrs {
		if b.attrs[i].name == name {
			return &b.attrs[i]
		}
	}
	return nil
}

func (b *blockSchema) attrNames() []string {
	names := make([]string, len(b.attrs))
	for i, a := range b.attrs {
		names[i] = a.name
	}
	return names
}

var (
	stringList = cty.List(cty.String)
	stringMap  = cty.Map(cty.String)
	anything   = cty.DynamicPseudoType
)

var repeatAttrs = []attrSchema{
	{name: "for_each", typ: anything, example: `{ a = 1, b = 2 }`},
	{name: "count", typ: cty.Number, example: `3`},
}

func withRepeat(attrs ...attrSchema) []attrSchema {
	return append(append([]attrSchema(nil), repeatAttrs...), attrs...)
}

// schemas are the forms of all top-level blocks.
func schemas() map[string]*blockSchema {
	return map[string]*blockSchema{
		"overbrainer": {
			example: "overbrainer {}",
			attrs: []attrSchema{
				{name: "required_version", typ: cty.String, static: true, example: `">= 0.1"`},
				{name: "required_providers", typ: anything, static: true, example: `{ runpod = { version = ">= 0.1" } }`},
			},
			blocks: map[string]*blockSchema{
				"backend": {label: "type", example: `backend "local" {}`, open: true, constant: true},
			},
		},
		"provider": {label: "name", example: `provider "runpod" {}`, open: true},
		"variable": {
			label: "name", example: `variable "name" { type = string }`,
			attrs: []attrSchema{
				{name: "type", static: true, example: "string"},
				{name: "default", static: true, example: `"a value"`},
				{name: "description", typ: cty.String, static: true, example: `"what it is for"`},
				{name: "sensitive", typ: cty.Bool, static: true, example: "true"},
				{name: "nullable", typ: cty.Bool, static: true, example: "false"},
			},
			blocks: map[string]*blockSchema{
				"validation": {many: true, example: `validation { condition = … }`, attrs: conditionAttrs()},
			},
		},
		"locals": {example: "locals {}", open: true},
		"output": {
			label: "name", example: `output "name" { value = run.train.output_dir }`,
			attrs: []attrSchema{
				{name: "value", typ: anything, required: true, late: true, sensitive: true, example: "run.train.output_dir"},
				{name: "description", typ: cty.String, static: true, example: `"what it is"`},
				{name: "sensitive", typ: cty.Bool, static: true, example: "true"},
			},
		},
		"secret": {
			label: "name", example: `secret "hf" { env = "HF_TOKEN" }`,
			attrs: []attrSchema{
				{name: "env", typ: cty.String, example: `"HF_TOKEN"`},
				{name: "file", typ: cty.String, example: `"~/.token"`},
				{name: "command", typ: stringList, example: `["pass", "show", "hf"]`},
			},
		},
		"volume": {
			label: "name", repeats: true, example: `volume "cache" { … }`,
			attrs: withRepeat(
				attrSchema{name: "provider", static: true, example: `"runpod"`},
				attrSchema{name: "id", typ: cty.String, example: `"vol_abc"`},
				attrSchema{name: "name", typ: cty.String, example: `"cache"`},
				attrSchema{name: "size_gb", typ: cty.Number, example: "100"},
				attrSchema{name: "data_center", typ: cty.String, example: `"EU-RO-1"`},
				attrSchema{name: "type", typ: cty.String, example: `"standard"`},
				attrSchema{name: "retain", typ: cty.Bool, example: "true"},
			),
		},
		"target": {label: "name", repeats: true, example: `target "gpu" { … }`, attrs: targetAttrs()},
		"cap": {
			label: "name", example: `cap "evening" { max_hours = 6 }`,
			attrs: []attrSchema{
				{name: "max_hours", typ: cty.Number, required: true, example: "6"},
				{name: "max_cost_usd", typ: cty.Number, example: "8"},
				{name: "max_total_usd", typ: cty.Number, example: "20"},
				{name: "boot_grace", typ: cty.String, example: `"30m"`},
				{name: "retrieve_grace", typ: cty.String, example: `"60m"`},
				{name: "overrun_hours", typ: cty.Number, example: "1"},
				{name: "stall_after", typ: cty.String, example: `"20m"`},
				{name: "max_volume_gb", typ: cty.Number, example: "300"},
				{name: "expected_hours", typ: cty.Number, example: "2"},
			},
		},
		"run": runSchema(),
		"check": {
			label: "name", example: `check "budget" { assert { … } }`,
			blocks: map[string]*blockSchema{
				"assert": {many: true, example: `assert { condition = plan.max_cost_usd <= 20 }`, attrs: conditionAttrs()},
			},
		},
		"moved": {
			example: "moved { from = run.a }",
			attrs: []attrSchema{
				{name: "from", required: true, static: true, example: "run.a"},
				{name: "to", required: true, static: true, example: "run.b"},
			},
		},
		"removed": {
			example: "removed { from = run.a }",
			attrs: []attrSchema{
				{name: "from", required: true, static: true, example: "run.a"},
				{name: "destroy", typ: cty.Bool, static: true, example: "false"},
			},
			blocks: map[string]*blockSchema{
				"lifecycle": {example: "lifecycle { destroy = false }", attrs: []attrSchema{
					{name: "destroy", typ: cty.Bool, static: true, example: "false"},
				}},
			},
		},
	}
}

func conditionAttrs() []attrSchema {
	return []attrSchema{
		{name: "condition", typ: cty.Bool, required: true, late: true, sensitive: true, example: "var.epochs > 0"},
		{name: "error_message", typ: cty.String, required: true, late: true, sensitive: true, example: `"epochs must be above 0"`},
	}
}

func targetAttrs() []attrSchema {
	return withRepeat(
		attrSchema{name: "provider", static: true, example: `"runpod"`},
		attrSchema{name: "gpu_types", typ: anything, required: true, example: `["NVIDIA A40"] or "auto"`},
		attrSchema{name: "min_vram_gb", typ: anything, example: "24"},
		attrSchema{name: "max_price_per_hour", typ: cty.Number, example: "1.50"},
		attrSchema{name: "gpu_count", typ: cty.Number, example: "1"},
		attrSchema{name: "data_centers", typ: anything, example: `["EU-RO-1"] or "auto"`},
		attrSchema{name: "cloud", typ: cty.String, example: `"secure"`},
		attrSchema{name: "image", typ: cty.String, example: `"runpod/pytorch:1.0.2-cu1281-torch280-ubuntu2404"`},
		attrSchema{name: "template", typ: cty.String, example: `"tpl_1"`},
		attrSchema{name: "registry", typ: cty.String, example: `"cred_1"`},
		attrSchema{name: "container_disk_gb", typ: cty.Number, example: "50"},
		attrSchema{name: "volume", typ: anything, ref: "volume", example: "volume.cache"},
		attrSchema{name: "min_cuda", typ: cty.String, example: `"12.8"`},
		attrSchema{name: "model", typ: cty.String, example: `"Qwen/Qwen3-4B"`},
		attrSchema{name: "install_sshd", typ: cty.Bool, example: "true"},
		attrSchema{name: "ready_timeout", typ: cty.String, example: `"15m"`},
		attrSchema{name: "wait_for_stock", typ: cty.String, example: `"2h"`},
	)
}

func runSchema() *blockSchema {
	return &blockSchema{
		label: "name", repeats: true, example: `run "train" { … }`,
		attrs: withRepeat(
			attrSchema{name: "target", typ: anything, ref: "target", required: true, example: "target.gpu"},
			attrSchema{name: "cap", typ: anything, ref: "cap", required: true, example: "cap.evening"},
			attrSchema{name: "command", typ: anything, required: true, late: true, sensitive: true, example: `["python", "train.py"]`},
			attrSchema{name: "setup", typ: cty.String, late: true, sensitive: true, example: `"pip install -r requirements.txt"`},
			attrSchema{name: "upload", typ: anything, example: `["train.py", "data/**"]`},
			attrSchema{name: "max_upload_gb", typ: cty.Number, example: "10"},
			attrSchema{name: "outputs", typ: stringList, example: `["output/**"]`},
			attrSchema{name: "allow_empty_outputs", typ: cty.Bool, example: "true"},
			attrSchema{name: "env", typ: stringMap, late: true, sensitive: true, example: `{ LR = "0.1" }`},
			attrSchema{name: "secrets", typ: anything, secret: true, example: `{ HF_TOKEN = secret.hf }`},
			attrSchema{name: "metrics", typ: cty.String, example: `"metrics.jsonl"`},
			attrSchema{name: "resume_from", typ: anything, ref: "run", late: true, example: "run.first"},
			attrSchema{name: "keep_pod", typ: cty.String, example: `"2h"`},
			attrSchema{name: "triggers", typ: stringMap, late: true, sensitive: true, example: `{ data = "v2" }`},
			attrSchema{name: "depends_on", static: true, example: "[run.first]"},
		),
		blocks: map[string]*blockSchema{
			"snapshot": {example: `snapshot { path = "output/checkpoint-{step}" }`, attrs: []attrSchema{
				{name: "path", typ: cty.String, example: `"output/checkpoint-{step}"`},
				{name: "grace", typ: cty.String, example: `"10m"`},
				{name: "every", typ: cty.String, example: `"20m"`},
				{name: "signal", typ: cty.String, example: `"SIGUSR1"`},
			}},
			"lifecycle": {example: `lifecycle { prevent_destroy = true }`, attrs: []attrSchema{
				{name: "rerun", typ: cty.String, static: true, example: `"on_change"`},
				{name: "prevent_destroy", typ: cty.Bool, static: true, example: "true"},
			}},
		},
	}
}
