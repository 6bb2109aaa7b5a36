package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// ShapeReader finds a model's shape by its name. Errors are shown beside the
// name, so they hold no credential.
type ShapeReader func(ctx context.Context, model string) (ModelShape, error)

// LocalShapes reads shapes of models that are directories of fsys, and asks
// hub for the others; hub may be nil.
func LocalShapes(fsys fs.FS, hub ShapeReader) ShapeReader {
	return func(ctx context.Context, model string) (ModelShape, error) {
		dir := path.Clean(strings.TrimPrefix(model, "./"))
		if fs.ValidPath(dir) {
			if info, err := fs.Stat(fsys, dir); err == nil && info.IsDir() {
				return localShape(fsys, dir)
			}
		}
		if err := CheckModelName(model); err != nil {
			return ModelShape{}, err
		}
		if hub == nil {
			return ModelShape{}, errors.New("it is no directory of the project, and no model hub can be asked")
		}
		return hub(ctx, model)
	}
}

// localShape reads config.json, and takes the number of parameters from the
// index or the sizes of the weight files.
func localShape(fsys fs.FS, dir string) (ModelShape, error) {
	data, err := fs.ReadFile(fsys, path.Join(dir, "config.json"))
	if err != nil {
		return ModelShape{}, fmt.Errorf("its config.json cannot be read: %w", err)
	}
	shape, err := ParseModelConfig(data)
	if err != nil {
		return ModelShape{}, err
	}
	var bytes uint64
	weights, _ := fs.Glob(fsys, path.Join(dir, "*.safetensors"))
	for _, name := range weights {
		if info, err := fs.Stat(fsys, name); err == nil {
			bytes = add(bytes, uint64(max(info.Size(), 0)))
		}
	}
	if shape.Params = bytes / weightBytes; shape.Params == 0 {
		shape.Params = shape.guessParams()
	}
	return shape, nil
}

// guessParams is the usual size of a decoder of this shape: embeddings, and 12
// square matrices in each layer.
func (s ModelShape) guessParams() uint64 {
	return add(mul(s.Vocab, s.Hidden), mul(12, s.Layers, s.Hidden, s.Hidden))
}

// ParseModelConfig reads hidden size, layers and vocabulary from a model's
// config.json, whatever they are called, and wherever a multi-modal model puts
// its text part.
func ParseModelConfig(data []byte) (ModelShape, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return ModelShape{}, errors.New("its config.json is no JSON object")
	}
	var text map[string]json.RawMessage
	_ = json.Unmarshal(top["text_config"], &text)
	find := func(names ...string) uint64 {
		for _, m := range []map[string]json.RawMessage{top, text} {
			for _, name := range names {
				var n uint64
				if json.Unmarshal(m[name], &n) == nil && n > 0 {
					return n
				}
			}
		}
		return 0
	}
	s := ModelShape{
		Hidden: find("hidden_size", "n_embd", "d_model"),
		Layers: find("num_hidden_layers", "n_layer", "num_layers"),
		Vocab:  find("vocab_size"),
	}
	if s.Hidden == 0 || s.Layers == 0 || s.Vocab == 0 {
		return ModelShape{}, errors.New("its config.json does not say hidden size, layers and vocabulary")
	}
	return s, nil
}

// modelName is a name at a model hub: one word, or owner/name, each of 96 at most.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?$`)

// CheckModelName refuses what cannot be a hub's model, before anything is
// asked for.
func CheckModelName(name string) error {
	owner, model, _ := strings.Cut(name, "/")
	if max(len(owner), len(model)) > 96 || !modelName.MatchString(name) || strings.Contains(name, "..") {
		return fmt.Errorf("%q is neither a directory of the project nor a name like Qwen/Qwen3-4B", name)
	}
	return nil
}
