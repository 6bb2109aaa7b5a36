package plan

import (
	"fmt"
	"math"
	"strings"
)

// ModelShape is what the size of a language model follows from.
type ModelShape struct {
	Params uint64 `json:"params"`
	Hidden uint64 `json:"hidden"`
	Layers uint64 `json:"layers"`
	Vocab  uint64 `json:"vocab"`
}

// Method is how a model is trained.
type Method string

// Methods.
const (
	LoRA  Method = "lora"  // adapters on 16-bit weights
	QLoRA Method = "qlora" // adapters on 4-bit weights
	Full  Method = "full"  // all weights
)

// Training is what an estimate assumes.
type Training struct {
	Method     Method `json:"method"`
	Rank       uint64 `json:"rank"`
	MicroBatch uint64 `json:"micro_batch"`
	SeqLen     uint64 `json:"sequence_length"`
	Optimizer  string `json:"optimizer,omitempty"`
	// KeepActivations: no gradient checkpointing.
	KeepActivations bool `json:"keep_activations,omitempty"`
}

// DefaultTraining is what is assumed where nothing else is known: the common
// way of fine-tuning on one GPU.
func DefaultTraining() Training {
	return Training{Method: LoRA, Rank: 16, MicroBatch: 2, SeqLen: 4096}
}

// Estimate is the VRAM that training takes on one GPU, by parts, in bytes.
type Estimate struct {
	Model       string     `json:"model"`
	Shape       ModelShape `json:"shape"`
	Training    Training   `json:"training"`
	Weights     uint64     `json:"weights"`
	Optimizer   uint64     `json:"optimizer"`
	Activations uint64     `json:"activations"`
	Logits      uint64     `json:"logits"`
	// Overhead is what the framework takes, and a fifth of everything.
	Overhead uint64 `json:"overhead"`
	Total    uint64 `json:"total"`
	// FloorGB is Total in GB (10^9 bytes), rounded up.
	FloorGB int `json:"floor_gb"`
}

// Bytes of the formula: 16-bit weights; 16 bytes of gradient, moments and master
// copy for each trained parameter; adapters on every projection of a layer; one
// 32-bit logit for each token and word.
const (
	gigabyte          = 1_000_000_000
	frameworkBytes    = 2 * gigabyte
	weightBytes       = 2
	optimizerBytes    = 16
	optimizer8Bytes   = 10
	adapterMatrices   = 18 // rows of rank × hidden in one layer
	logitBytes        = 4
	activationBytes   = 2
	activationNoCheck = 34
)

// EstimateVRAM says how much VRAM training a model of the shape takes on one
// GPU. Sums that do not fit 64 bits stay at the largest number.
func EstimateVRAM(model string, shape ModelShape, tr Training) Estimate {
	e := Estimate{Model: model, Shape: shape, Training: tr}
	trained := shape.Params
	e.Weights = mul(shape.Params, weightBytes)
	if tr.Method != Full {
		trained = mul(shape.Layers, tr.Rank, shape.Hidden, adapterMatrices)
	}
	if tr.Method == QLoRA {
		e.Weights = tenths(shape.Params, 6)
	}
	each := uint64(optimizerBytes)
	if strings.Contains(tr.Optimizer, "8bit") {
		each = optimizer8Bytes
	}
	e.Optimizer = mul(trained, each)
	tokens := mul(tr.MicroBatch, tr.SeqLen)
	perToken := uint64(activationBytes)
	if tr.KeepActivations {
		perToken = activationNoCheck
	}
	e.Activations = mul(tokens, shape.Hidden, shape.Layers, perToken)
	e.Logits = mul(tokens, shape.Vocab, logitBytes)
	sum := add(e.Weights, e.Optimizer, e.Activations, e.Logits)
	e.Total = tenths(add(sum, frameworkBytes), 12)
	if e.Total > sum {
		e.Overhead = e.Total - sum
	}
	e.FloorGB = ceilGB(e.Total)
	return e
}

// String says the estimate with its parts and what it assumes, in GB.
func (e Estimate) String() string {
	tr := e.Training
	how := string(tr.Method)
	if tr.Method != Full {
		how += fmt.Sprintf(" of rank %d", tr.Rank)
	}
	return fmt.Sprintf("%s GB for %s (weights %s, optimizer %s, activations %s, logits %s, overhead %s; %s, %d sequences of %d tokens at once)",
		TenthsGB(e.Total), e.Model,
		TenthsGB(e.Weights), TenthsGB(e.Optimizer), TenthsGB(e.Activations), TenthsGB(e.Logits), TenthsGB(e.Overhead),
		how, tr.MicroBatch, tr.SeqLen)
}

// TenthsGB shows bytes in GB, rounded up to tenths.
func TenthsGB(bytes uint64) string {
	const tenth = gigabyte / 10
	n := bytes / tenth
	if bytes%tenth > 0 {
		n++
	}
	return fmt.Sprintf("%d.%d", n/10, n%10)
}

func ceilGB(bytes uint64) int {
	n := bytes / gigabyte
	if bytes%gigabyte > 0 {
		n++
	}
	return int(min(n, math.MaxInt32))
}

// Fit says how a GPU's VRAM suits a need, both in GB: "ok", "tight" (under a
// tenth to spare), "small", or "?" when the VRAM is not known.
func Fit(vramGB, needGB int) string {
	switch {
	case vramGB <= 0:
		return "?"
	case vramGB < needGB:
		return "small"
	case 10*vramGB < 11*needGB:
		return "tight"
	}
	return "ok"
}

// mul multiplies and stays at the largest number.
func mul(factors ...uint64) uint64 {
	product := uint64(1)
	for _, f := range factors {
		if f == 0 {
			return 0
		}
	}
	for _, f := range factors {
		if product > math.MaxUint64/f {
			return math.MaxUint64
		}
		product *= f
	}
	return product
}

func add(terms ...uint64) uint64 {
	var sum uint64
	for _, t := range terms {
		if sum > math.MaxUint64-t {
			return math.MaxUint64
		}
		sum += t
	}
	return sum
}

// tenths gives n × t/10.
func tenths(n, t uint64) uint64 { return mul(n, t) / 10 }
