package config

// Declared lists the names that the project's blocks declare, by block type and
// in the order of files: "run" → "sft", "eval". It evaluates nothing, asks
// nobody, and reads over faults, for whoever completes a command line.
func Declared(dir string) map[string][]string {
	texts, _ := readSources(dir, nil)
	out := map[string][]string{}
	for _, name := range sorted(texts) {
		file, _ := parse(name, texts[name])
		for _, body := range file.bodies {
			for _, block := range body.Blocks {
				if len(block.Labels) == 1 {
					out[block.Type] = append(out[block.Type], block.Labels[0])
				}
			}
		}
	}
	return out
}
