package plan

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/fstest"
)

var (
	qwen4   = ModelShape{Params: 4022468096, Hidden: 2560, Layers: 36, Vocab: 151936}
	qwen8   = ModelShape{Params: 8190735360, Hidden: 4096, Layers: 36, Vocab: 151936}
	mistral = ModelShape{Params: 7241732096, Hidden: 4096, Layers: 32, Vocab: 32000}
)

// The estimate of published models by the formula: adapters on 4 B, 4-bit
// weights on 8 B, all weights on 7 B; what an 8-bit optimizer saves and what no
// checkpointing costs; and sums too large for 64 bits stay at the largest, which
// no GPU fits.
func TestEstimateVRAM(t *testing.T) {
	with := func(m Method) Training { tr := DefaultTraining(); tr.Method = m; return tr }
	for _, test := range []struct {
		name  string
		shape ModelShape
		tr    Training
		want  int
		shown string
	}{
		{"lora", qwen4, with(LoRA), 21, "20.4"},
		{"qlora", qwen8, with(QLoRA), 18, ""},
		{"full", mistral, with(Full), 163, ""},
	} {
		e := EstimateVRAM(test.name, test.shape, test.tr)
		if e.FloorGB != test.want || test.shown != "" && TenthsGB(e.Total) != test.shown {
			t.Errorf("%s: %d GB, shown %s", test.name, e.FloorGB, TenthsGB(e.Total))
		}
		if sum := e.Weights + e.Optimizer + e.Activations + e.Logits + e.Overhead; sum != e.Total {
			t.Errorf("%s: parts add up to %d, not %d", test.name, sum, e.Total)
		}
	}
	small := with(Full)
	small.Optimizer = "adamw_bnb_8bit"
	if saved := EstimateVRAM("", mistral, with(Full)).FloorGB - EstimateVRAM("", mistral, small).FloorGB; saved < 41 {
		t.Errorf("an 8-bit optimizer saves %d GB", saved)
	}
	keep := with(LoRA)
	keep.KeepActivations = true
	if more := EstimateVRAM("", qwen4, keep).Activations / EstimateVRAM("", qwen4, with(LoRA)).Activations; more != 17 {
		t.Errorf("without checkpointing activations are %d times as large", more)
	}
	m := uint64(math.MaxUint64)
	e := EstimateVRAM("", ModelShape{m, m, m, m}, Training{Method: LoRA, Rank: m, MicroBatch: m, SeqLen: m})
	if e.Total < m/10 || Fit(80, e.FloorGB) != "small" {
		t.Errorf("all maxima: %+v", e)
	}
}

// A GPU is small below the need, tight with less than a tenth to spare; a byte
// more than a GB is the next one.
func TestFitAndRounding(t *testing.T) {
	for vram, want := range map[int]string{48: "ok", 22: "ok", 21: "tight", 20: "tight", 19: "small", 0: "?"} {
		if got := Fit(vram, 20); got != want {
			t.Errorf("%d GB for 20: %s, want %s", vram, got, want)
		}
	}
	if ceilGB(20e9) != 20 || ceilGB(20e9+1) != 21 || TenthsGB(20e9) != "20.0" || TenthsGB(20e9+1) != "20.1" {
		t.Error("rounding")
	}
}

// A path is not taken for a name, so that nothing is asked for it.
func TestModelNames(t *testing.T) {
	for _, good := range []string{"Qwen/Qwen3-4B", "gpt2", "mistralai/Mistral-7B-v0.1"} {
		if err := CheckModelName(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "/etc/x", "../x", "a/b/c", "org/.hidden", "a/../b", "a b", "https://x/y", "org/"} {
		if CheckModelName(bad) == nil {
			t.Errorf("%q is taken for a model", bad)
		}
	}
}

func TestShapes(t *testing.T) {
	fsys := fstest.MapFS{
		"models/text/config.json":       {Data: []byte(`{"vocab_size": 100, "text_config": {"hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 7}}`)},
		"models/text/m.safetensors":     {Data: make([]byte, 2000)},
		"models/gpt/config.json":        {Data: []byte(`{"n_embd": 8, "n_layer": 3, "vocab_size": 10}`)},
		"models/broken/config.json":     {Data: []byte(`[]`)},
		"models/incomplete/config.json": {Data: []byte(`{"hidden_size": null, "vocab_size": 3}`)},
		"models/empty/x":                {},
	}
	asked := ""
	refused := errors.New("the hub answered 401")
	read := LocalShapes(fsys, func(_ context.Context, model string) (ModelShape, error) {
		asked = model
		return ModelShape{}, refused
	})
	for model, want := range map[string]ModelShape{
		"./models/text": {Params: 1000, Hidden: 64, Layers: 2, Vocab: 100},
		"models/gpt":    {Params: 10*8 + 12*3*8*8, Hidden: 8, Layers: 3, Vocab: 10},
	} {
		got, err := read(t.Context(), model)
		if err != nil || got != want {
			t.Errorf("%s: %+v %v", model, got, err)
		}
	}
	for _, model := range []string{"models/broken", "models/incomplete", "models/empty", "../x", "a/b/c"} {
		if _, err := read(t.Context(), model); err == nil || asked != "" {
			t.Errorf("%s: no error, or the hub was asked for %q", model, asked)
		}
	}
	if _, err := read(t.Context(), "Qwen/Qwen3-4B"); !errors.Is(err, refused) || asked != "Qwen/Qwen3-4B" {
		t.Errorf("hub: %v, asked %q", err, asked)
	}
	if _, err := LocalShapes(fsys, nil)(t.Context(), "gpt2"); err == nil {
		t.Error("no hub, no error")
	}
}
