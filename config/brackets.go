package config

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// closeStrings finds strings that have no end on their line, and puts a 0 in
// their place, so that the rest of the text can be read.
func closeStrings(name string, text []byte, tokens hclsyntax.Tokens) ([]byte, hclsyntax.Tokens, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	for range 20 {
		open := openString(tokens)
		if open < 0 {
			break
		}
		diags = append(diags, unclosed(tokens[open], ""))
		start := tokens[open].Range.Start.Byte
		end := len(text)
		if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i
		}
		text = bytes.Clone(text)
		for i := start; i < end; i++ {
			text[i] = ' '
		}
		text[start] = '0'
		tokens, _ = hclsyntax.LexConfig(text, name, hcl.InitialPos)
	}
	return text, tokens, diags
}

// openString is the index of the first quote whose string runs over the end of
// its line, -1 if there is none.
func openString(tokens hclsyntax.Tokens) int {
	var open []int
	for i, tok := range tokens {
		switch tok.Type {
		case hclsyntax.TokenOQuote:
			open = append(open, i)
		case hclsyntax.TokenCQuote:
			open = open[:max(0, len(open)-1)]
		case hclsyntax.TokenQuotedNewline, hclsyntax.TokenEOF:
			if len(open) > 0 {
				return open[len(open)-1]
			}
		}
	}
	return -1
}

type part struct {
	start hcl.Pos
	end   int
}

// split finds the top-level blocks and arguments by their looks: a name at the
// begin of a line, with a brace or an equals sign on it.
func split(text []byte, tokens hclsyntax.Tokens) []part {
	starts := []hcl.Pos{hcl.InitialPos}
	for i, tok := range tokens {
		if tok.Type != hclsyntax.TokenIdent || tok.Range.Start.Column != 1 || tok.Range.Start.Byte == 0 {
			continue
		}
		if opens(tokens[i+1:]) {
			starts = append(starts, tok.Range.Start)
		}
	}
	parts := make([]part, len(starts))
	for i, start := range starts {
		parts[i] = part{start: start, end: len(text)}
		if i > 0 {
			parts[i-1].end = start.Byte
		}
	}
	return parts
}

func opens(tokens hclsyntax.Tokens) bool {
	for _, tok := range tokens {
		switch tok.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenEqual:
			return true
		case hclsyntax.TokenIdent, hclsyntax.TokenOQuote, hclsyntax.TokenQuotedLit, hclsyntax.TokenCQuote:
		default:
			return false
		}
	}
	return false
}

// findUnclosed names the openings in one top-level part that are not closed,
// or closed by a bracket of another kind. A block's own brace is named only if
// nothing inside it explains why it is open.
func findUnclosed(tokens hclsyntax.Tokens) hcl.Diagnostics {
	var diags hcl.Diagnostics
	var stack []hclsyntax.Token
	closes := map[hclsyntax.TokenType]hclsyntax.TokenType{
		hclsyntax.TokenCBrace: hclsyntax.TokenOBrace, hclsyntax.TokenCBrack: hclsyntax.TokenOBrack,
		hclsyntax.TokenCParen: hclsyntax.TokenOParen, hclsyntax.TokenCQuote: hclsyntax.TokenOQuote,
		hclsyntax.TokenCHeredoc: hclsyntax.TokenOHeredoc,
	}
	for _, tok := range tokens {
		switch tok.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote,
			hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			stack = append(stack, tok)
			continue
		case hclsyntax.TokenTemplateSeqEnd:
			if n := len(stack); n > 0 {
				stack = stack[:n-1]
			}
			continue
		}
		opener, isCloser := closes[tok.Type]
		if !isCloser {
			continue
		}
		found := -1
		for i := len(stack) - 1; i >= 0; i-- {
			if stack[i].Type == opener {
				found = i
				break
			}
		}
		if found < 0 {
			return append(diags, at(tok.Range, "nothing to close", fmt.Sprintf("there is a %s here, and nothing open that it could close", tok.Bytes)))
		}
		for _, open := range stack[found+1:] {
			diags = append(diags, unclosed(open, fmt.Sprintf("it should be before the %s on line %d", tok.Bytes, tok.Range.Start.Line)))
		}
		stack = stack[:found]
	}
	if len(diags) > 0 || len(stack) == 0 {
		return diags
	}
	return hcl.Diagnostics{unclosed(stack[len(stack)-1], "it should be before the next block, or before the end of the file")}
}

func unclosed(open hclsyntax.Token, where string) *hcl.Diagnostic {
	opener := strings.TrimSpace(string(open.Bytes))
	switch open.Type {
	case hclsyntax.TokenOHeredoc:
		word := strings.TrimLeft(opener, "<-")
		return at(open.Range, "heredoc without end", fmt.Sprintf("the text that begins at %s has no end: a line that holds %s and nothing else", opener, word))
	case hclsyntax.TokenOQuote:
		return at(open.Range, "string without end", `the string that begins here has no closing " on its line; a text of several lines is written as <<EOT … EOT`)
	}
	closer := map[string]string{"{": "}", "[": "]", "(": ")", "${": "}", "%{": "}", "${~": "}", "%{~": "}"}[opener]
	return at(open.Range, fmt.Sprintf("%s is not closed", opener), fmt.Sprintf("the %s opened here has no %s; %s", opener, closer, where))
}
