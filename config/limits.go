package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Bounds on what a configuration may ask of this machine. They are far above
// anything that is written by hand, and low enough that a hostile file ends in
// a diagnostic, not in an exhausted machine.
const (
	maxFiles       = 1000
	maxFileBytes   = 4 << 20
	maxSourceBytes = 16 << 20
	// maxDepth bounds nested brackets, blocks and template directives.
	maxDepth = 100
	// maxChain bounds operators and index brackets in one expression: each is a
	// level of the evaluation's recursion.
	maxChain = 1000
	// maxExponent bounds number literals: 1e999999999 is a short way to write a
	// gigabyte.
	maxExponent = 4000
	// maxInstances bounds all for_each and count instances together.
	maxInstances = 100_000
	// maxReadBytes bounds a file that a function reads.
	maxReadBytes = 16 << 20
	// maxSteps and maxBytes bound one evaluation: rounds of for expressions and
	// function calls, and the bytes that these make.
	maxSteps = 1_000_000
	maxBytes = 256 << 20
	// maxBits bounds the size of numbers.
	maxBits = 1 << 16
	// maxDiagnostics bounds what is reported at once.
	maxDiagnostics = 200

	defaultLimit = 30 * time.Second
)

// checkShape refuses text whose nesting would exhaust the parser or the
// evaluator. It looks at tokens only, and so needs no stack of its own size.
func checkShape(tokens hclsyntax.Tokens) *hcl.Diagnostic {
	type frame struct {
		chain int
		block bool // newlines end an expression here
	}
	stack := []frame{{block: true}}
	directives := 0
	for i, tok := range tokens {
		top := &stack[len(stack)-1]
		switch tok.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote,
			hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			if tok.Type == hclsyntax.TokenOBrack {
				top.chain++
			}
			stack = append(stack, frame{block: tok.Type == hclsyntax.TokenOBrace})
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote,
			hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
		case hclsyntax.TokenComma:
			top.chain = 0
		case hclsyntax.TokenNewline:
			if top.block {
				top.chain = 0
			}
		case hclsyntax.TokenPlus, hclsyntax.TokenMinus, hclsyntax.TokenStar, hclsyntax.TokenSlash, hclsyntax.TokenPercent,
			hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq,
			hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq, hclsyntax.TokenAnd, hclsyntax.TokenOr,
			hclsyntax.TokenBang, hclsyntax.TokenQuestion:
			top.chain++
		case hclsyntax.TokenNumberLit:
			if exponent(tok.Bytes) > maxExponent {
				return at(tok.Range, "number too large", fmt.Sprintf("an exponent may be at most %d", maxExponent))
			}
		case hclsyntax.TokenIdent:
			if i > 0 && (tokens[i-1].Type == hclsyntax.TokenTemplateControl) {
				switch string(tok.Bytes) {
				case "if", "for":
					directives++
				case "endif", "endfor":
					directives--
				}
			}
		}
		if len(stack)+directives > maxDepth {
			return at(tok.Range, "nested too deeply", fmt.Sprintf("brackets, blocks and template directives may be nested %d deep", maxDepth))
		}
		if stack[len(stack)-1].chain > maxChain {
			return at(tok.Range, "expression too long", fmt.Sprintf("one expression may have %d operators; compute a part of it in locals", maxChain))
		}
	}
	return nil
}

func exponent(number []byte) int {
	_, digits, ok := strings.Cut(strings.ToLower(string(number)), "e")
	if !ok {
		return len(number)
	}
	n, err := strconv.Atoi(strings.TrimLeft(digits, "+-"))
	if err != nil {
		return maxExponent + 1
	}
	return n
}
