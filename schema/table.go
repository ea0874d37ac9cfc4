package schema

import (
	"slices"
	"strings"
	"sync"
)

// A verdict is what becomes of a keyword on a wire.
type verdict int

const (
	keepKeyword     verdict = iota
	describeKeyword         // taken out and put into the description in words
	dropKeyword             // taken out; it says nothing that a model needs
	rewriteKeyword          // written in another form, which says the same
	rejectKeyword           // with it the schema is not possible on the wire
)

// A cell is the verdict on one keyword on one wire: it is kept where fits reports so,
// and else verdict applies. Without fits verdict always applies.
type cell struct {
	verdict verdict
	fits    func(v *value) bool
}

func (c cell) on(v *value) verdict {
	if c.fits != nil && c.fits(v) {
		return keepKeyword
	}
	return c.verdict
}

var (
	keep     = cell{verdict: keepKeyword}
	describe = cell{verdict: describeKeyword}
	drop     = cell{verdict: dropKeyword}
	rewrite  = cell{verdict: rewriteKeyword}
	reject   = cell{verdict: rejectKeyword}
)

// unless returns c, but what fits is kept.
func (c cell) unless(fits func(v *value) bool) cell { return cell{c.verdict, fits} }

// The columns of the table. The wires without an enforced subset (AnthropicTool,
// OpenAI) have none: they keep every keyword, and pass over what they do not know.
const (
	anthropic = iota // AnthropicOutput
	openAI           // OpenAIStrict
	gemini           // Gemini
	columns
)

// table is every decision on a keyword, all read 2026-11-20:
//
//   - A: anthropics/anthropic-sdk-python src/anthropic/lib/_parse/_transform.py and
//     -typescript src/lib/transform-json-schema.ts: what the official SDKs take out
//     and put into the description. They keep a oneOf as anyOf and a format of ten.
//   - O: openai/openai-node src/lib/transform.ts (its list of unsupported keywords)
//     and pydantic/pydantic-ai pydantic_ai_slim/pydantic_ai/profiles/openai.py (its
//     list of incompatible ones, nine formats, no lookaround). The two disagree on
//     minLength and maxLength; describe is right for both.
//   - G: ai.google.dev/api, responseJsonSchema ("only the following properties are
//     supported": $defs, $ref, type, format, title, description, enum, items,
//     prefixItems, minItems, maxItems, minimum, maximum, anyOf, oneOf "interpreted
//     the same as anyOf", properties, additionalProperties, required), and
//     pydantic-ai profiles/google.py, which found const, title, format, examples
//     and exclusive bounds wanting. minLength and maxLength are not on the list of
//     the page and are kept by pydantic-ai; they stay.
//
// A keyword that is not here (an extension, OpenAPI's) goes by unknown.
var table = sync.OnceValue(func() map[string][columns]cell {
	return map[string][columns]cell{
		//                     A                           O                          G
		"type":        {keep, keep, keep},
		"description": {keep, keep, keep},
		"title":       {keep, keep, drop},
		"properties":  {keep, keep, keep},
		"required":    {keep, keep, keep},
		"items":       {rewrite.unless(isSchema), rewrite.unless(isSchema), rewrite.unless(isSchema)}, // else a tuple of draft 7
		"anyOf":       {keep, keep, keep},
		"oneOf":       {rewrite, rewrite, rewrite},
		"allOf":       {rewrite, rewrite, rewrite}, // A takes one level, O merged objects, G passes over it
		"enum":        {describe.unless(areScalars), describe.unless(areScalars), describe.unless(areScalars)},
		"const":       {describe.unless(isScalar), describe.unless(isScalar), rewrite},

		// additionalProperties, A: forced to false. O refuses open objects (and says so:
		// "must set additionalProperties: false").
		"additionalProperties": {rewrite.unless(isFalse), reject.unless(isFalse), keep},

		"$ref":           {keep, keep, keep}, // without siblings; the walk sees to it
		"$defs":          {keep, keep, keep},
		"definitions":    {rewrite, rewrite, rewrite}, // the older name of $defs
		"$anchor":        {drop, drop, drop},          // references to it are resolved
		"$schema":        {drop, drop, drop},
		"$id":            {drop, drop, drop},
		"$comment":       {drop, drop, drop},
		"$vocabulary":    {drop, drop, drop},
		"$dynamicRef":    {reject, reject, reject},
		"$dynamicAnchor": {drop, drop, drop},
		"$recursiveRef":  {reject, reject, reject},

		"minLength":        {describe, describe, keep},
		"maxLength":        {describe, describe, keep},
		"pattern":          {describe, describe.unless(hasNoLookaround), describe},
		"format":           {describe.unless(isFormatOfA), describe.unless(isFormatOfO), describe},
		"minimum":          {describe, keep, keep},
		"maximum":          {describe, keep, keep},
		"exclusiveMinimum": {describe, keep, describe},
		"exclusiveMaximum": {describe, keep, describe},
		"multipleOf":       {describe, keep, describe},
		"minItems":         {describe.unless(isZeroOrOne), keep, keep},
		"maxItems":         {describe, keep, keep},
		"uniqueItems":      {describe, describe, describe},
		"contains":         {describe, describe, describe},
		"minContains":      {describe, describe, describe},
		"maxContains":      {describe, describe, describe},
		"prefixItems":      {rewrite, rewrite, keep}, // A and O: items of any of them
		"additionalItems":  {rewrite, rewrite, rewrite},

		"patternProperties":     {describe, describe, describe},
		"propertyNames":         {describe, describe, describe},
		"minProperties":         {describe, describe, describe},
		"maxProperties":         {describe, describe, describe},
		"dependentRequired":     {describe, describe, describe},
		"dependentSchemas":      {describe, describe, describe},
		"dependencies":          {describe, describe, describe},
		"unevaluatedProperties": {describe, describe, describe},
		"unevaluatedItems":      {describe, describe, describe},
		"not":                   {describe, describe, describe},
		"if":                    {describe, describe, describe},
		"then":                  {describe, describe, describe},
		"else":                  {describe, describe, describe},

		"default":          {describe, describe, describe},
		"examples":         {describe, describe, describe},
		"deprecated":       {describe, describe, describe},
		"readOnly":         {describe, describe, describe},
		"writeOnly":        {describe, describe, describe},
		"contentEncoding":  {describe, describe, describe},
		"contentMediaType": {describe, describe, describe},
		"contentSchema":    {describe, describe, describe},

		// OpenAPI's words, which validate nothing in JSON Schema. A model that was told
		// "nullable" would send a null that the authored schema refuses.
		"nullable":      {drop, drop, drop},
		"discriminator": {drop, drop, drop},
		"xml":           {drop, drop, drop},
		"externalDocs":  {drop, drop, drop},
	}
})

var unknown = [columns]cell{describe, describe, describe}

// rootOnly are keywords that a wire refuses at the top of a tool's schema and takes
// elsewhere, read 2026-11-20:
//
//   - Anthropic: "input_schema does not support oneOf, allOf, or anyOf at the top
//     level" (anthropics/claude-code issues #5319, #27337).
//   - OpenAI, strict or not: "schema must have type 'object' and not have
//     'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level"
//     (chatanywhere/GPT_API_free #403).
var (
	rootOnlyAnthropic = []string{"anyOf", "oneOf", "allOf"}
	rootOnlyOpenAI    = []string{"anyOf", "oneOf", "allOf", "enum", "not"}
)

// verdictOn returns what becomes of a keyword with this value.
func (w wire) verdictOn(keyword string, v *value) verdict {
	if !w.subset {
		return keepKeyword
	}
	row, ok := table()[keyword]
	if !ok {
		row = unknown
	}
	return row[w.column].on(v)
}

func isSchema(v *value) bool { return v.kind == '{' || v.kind == 't' || v.kind == 'f' }

func isScalar(v *value) bool { return v.kind != '{' && v.kind != '[' }

func areScalars(v *value) bool { return v.kind == '[' && !slices.ContainsFunc(v.items, notScalar) }

func notScalar(v *value) bool { return !isScalar(v) }

func isFalse(v *value) bool { return v.is("false") }

func isZeroOrOne(v *value) bool { return v.is("0") || v.is("1") }

// isFormatOfA are the ten formats of SupportedStringFormats in Anthropic's SDK.
func isFormatOfA(v *value) bool {
	return isFormatOfO(v) || v.text == "uri"
}

// isFormatOfO are the nine formats of _STRICT_COMPATIBLE_STRING_FORMATS in
// pydantic-ai's profiles/openai.py.
func isFormatOfO(v *value) bool {
	switch v.text {
	case "date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid":
		return true
	}
	return false
}

// hasNoLookaround reports whether a pattern is without (?=, (?!, (?<= and (?<!.
// One that is escaped or in a class counts too: then it is described, which is right.
func hasNoLookaround(v *value) bool {
	for _, token := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.Contains(v.text, token) {
			return false
		}
	}
	return true
}
