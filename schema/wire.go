package schema

import "strings"

// A wire is what a target asks of a schema beside its keywords.
type wire struct {
	subset      bool     // it takes only what the table keeps, in column
	column      int      // of the table
	rootOnly    []string // keywords that it refuses at the root
	closed      bool     // every object says additionalProperties: false
	allRequired bool     // every property is required: optional ones are made nullable
	typed       bool     // every schema says its type
	complete    bool     // every array says its items, and the root its properties
	distinct    bool     // the branches of a union differ in their first field
	cycles      cycles   // references in a circle
	plainNames  bool     // of the root's properties: see plainName
	limits      limits
}

// cycles says which references in a circle a wire takes.
type cycles int

const (
	anyCycle      cycles = iota
	optionalCycle        // one that goes through an optional property
	noCycle
)

// limits of one schema; 0 is none.
type limits struct {
	properties int // of all objects
	depth      int // properties and items below the root
	enum       int // values, of all enums
	characters int // of the names of properties and definitions and of enum values
	longEnum   int // characters in an enum of more than longEnumOver values
	optional   int // properties that are not required
	unions     int // properties with several types or anyOf
}

const longEnumOver = 250

// plainNamePattern is what plainName accepts, for people.
const plainNamePattern = `^[a-zA-Z0-9_.-]{1,64}$`

func plainName(s string) bool {
	return 0 < len(s) && len(s) <= 64 && strings.IndexFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '.' || r == '-')
	}) < 0
}

// wires is everything that a target asks for, read 2026-11-20:
//
//   - Names of properties, Anthropic: "input_schema.properties: Property keys should
//     match pattern", at the top level only (anthropics/claude-code #79418,
//     aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws
//     #709). One such name fails the whole request.
//   - Anthropic's structured outputs, platform.claude.com/docs structured-outputs: no
//     recursion, every object closed, "must have a type" from the SDK, 24 optional
//     and 16 union-typed parameters over all strict schemas of a request. Here one
//     schema is held against them; the sum is the request's to watch.
//   - OpenAI's structured outputs, platform.openai.com/docs/guides/structured-outputs:
//     5,000 properties, 10 levels, 1,000 enum values, 120,000 characters of names and
//     values, 15,000 in an enum of more than 250. How levels are counted is not
//     said; counting every property and item is the stricter reading.
//   - "Objects provided via 'anyOf' must not share identical first keys. Consider
//     adding a discriminator key" (strict mode; zenn.dev/nicopin/scraps/a8d8f53f5faebb).
//   - Arrays without items: "array schema missing items", strict or not
//     (mark3labs/mcphost #35, digitalocean-labs/mcp-digitalocean #265).
//   - Gemini: "Cyclic references are unrolled to a limited degree and, as such, may
//     only be used within non-required properties."
var wires = map[Target]wire{
	AnthropicTool: {
		rootOnly:   rootOnlyAnthropic,
		plainNames: true,
	},
	AnthropicOutput: {
		subset: true, column: anthropic,
		closed: true, typed: true, cycles: noCycle,
		limits: limits{optional: 24, unions: 16},
	},
	OpenAI: {
		rootOnly: rootOnlyOpenAI,
		complete: true,
	},
	OpenAIStrict: {
		subset: true, column: openAI,
		rootOnly: rootOnlyOpenAI,
		closed:   true, allRequired: true, typed: true, complete: true, distinct: true,
		limits: limits{properties: 5000, depth: 10, enum: 1000, characters: 120_000, longEnum: 15_000},
	},
	Gemini: {
		subset: true, column: gemini,
		cycles: optionalCycle,
	},
}
