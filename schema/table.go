package schema

import (
	"slices"
	"strings"
)

// A verdict is what becomes of a keyword on a wire.
type verdict int

const (
	kept       verdict = iota
	told               // taken out and said in words where it stood
	muted              // taken out; it says nothing that a model needs
	translated         // written in another form, which says the same
	refused            // with it the schema cannot be had on the wire
)

// A cell is the verdict on one keyword on one wire: kept where fits says so,
// verdict otherwise. Without fits it is always verdict.
type cell struct {
	verdict verdict
	fits    func(v *value) bool
}

func (c cell) on(v *value) verdict {
	if c.fits != nil && c.fits(v) {
		return kept
	}
	return c.verdict
}

var (
	keep   = cell{verdict: kept}
	tell   = cell{verdict: told}
	mute   = cell{verdict: muted}
	change = cell{verdict: translated}
	refuse = cell{verdict: refused}
)

// unless returns c, but what fits is kept.
func (c cell) unless(fits func(v *value) bool) cell { return cell{c.verdict, fits} }

// The columns of the table. The wires without an enforced subset (AnthropicTool,
// OpenAI) have none: they keep every keyword, and pass over what they do not know.
const (
	columnA = iota // AnthropicOutput
	columnO        // OpenAIStrict
	columnG        // Gemini
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
//     minLength and maxLength; told is right for both.
//   - G: ai.google.dev/api, responseJsonSchema ("only the following properties are
//     supported": $defs, $ref, type, format, title, description, enum, items,
//     prefixItems, minItems, maxItems, minimum, maximum, anyOf, oneOf "interpreted
//     the same as anyOf", properties, additionalProperties, required), and
//     pydantic-ai profiles/google.py, which found const, title, format, examples
//     and exclusive bounds wanting. minLength and maxLength are not on the list of
//     the page and are kept by pydantic-ai; they stay.
//
// A keyword that is not here (an extension, OpenAPI's) goes by unknown.
var table = map[string][columns]cell{
	//                     A                           O                          G
	"type":        {keep, keep, keep},
	"description": {keep, keep, keep},
	"title":       {keep, keep, mute},
	"properties":  {keep, keep, keep},
	"required":    {keep, keep, keep},
	"items":       {change.unless(isSchema), change.unless(isSchema), change.unless(isSchema)}, // else a tuple of draft 7
	"anyOf":       {keep, keep, keep},
	"oneOf":       {change, change, change},
	"allOf":       {change, change, change}, // A takes one level, O merged objects, G passes over it
	"enum":        {tell.unless(areScalars), tell.unless(areScalars), tell.unless(areScalars)},
	"const":       {tell.unless(isScalar), tell.unless(isScalar), change},

	// additionalProperties, A: forced to false. O refuses open objects (and says so:
	// "must set additionalProperties: false").
	"additionalProperties": {change.unless(isFalse), refuse.unless(isFalse), keep},

	"$ref":           {keep, keep, keep}, // without siblings; the walk sees to it
	"$defs":          {keep, keep, keep},
	"definitions":    {change, change, change}, // the older name of $defs
	"$anchor":        {mute, mute, mute},       // references to it are resolved
	"$schema":        {mute, mute, mute},
	"$id":            {mute, mute, mute},
	"$comment":       {mute, mute, mute},
	"$vocabulary":    {mute, mute, mute},
	"$dynamicRef":    {refuse, refuse, refuse},
	"$dynamicAnchor": {mute, mute, mute},
	"$recursiveRef":  {refuse, refuse, refuse},

	"minLength":        {tell, tell, keep},
	"maxLength":        {tell, tell, keep},
	"pattern":          {tell, tell.unless(hasNoLookaround), tell},
	"format":           {tell.unless(isFormatOfA), tell.unless(isFormatOfO), tell},
	"minimum":          {tell, keep, keep},
	"maximum":          {tell, keep, keep},
	"exclusiveMinimum": {tell, keep, tell},
	"exclusiveMaximum": {tell, keep, tell},
	"multipleOf":       {tell, keep, tell},
	"minItems":         {tell.unless(isZeroOrOne), keep, keep},
	"maxItems":         {tell, keep, keep},
	"uniqueItems":      {tell, tell, tell},
	"contains":         {tell, tell, tell},
	"minContains":      {tell, tell, tell},
	"maxContains":      {tell, tell, tell},
	"prefixItems":      {change, change, keep}, // A and O: items of any of them
	"additionalItems":  {change, change, change},

	"patternProperties":     {tell, tell, tell},
	"propertyNames":         {tell, tell, tell},
	"minProperties":         {tell, tell, tell},
	"maxProperties":         {tell, tell, tell},
	"dependentRequired":     {tell, tell, tell},
	"dependentSchemas":      {tell, tell, tell},
	"dependencies":          {tell, tell, tell},
	"unevaluatedProperties": {tell, tell, tell},
	"unevaluatedItems":      {tell, tell, tell},
	"not":                   {tell, tell, tell},
	"if":                    {tell, tell, tell},
	"then":                  {tell, tell, tell},
	"else":                  {tell, tell, tell},

	"default":          {tell, tell, tell},
	"examples":         {tell, tell, tell},
	"deprecated":       {tell, tell, tell},
	"readOnly":         {tell, tell, tell},
	"writeOnly":        {tell, tell, tell},
	"contentEncoding":  {tell, tell, tell},
	"contentMediaType": {tell, tell, tell},
	"contentSchema":    {tell, tell, tell},

	// OpenAPI's words, which validate nothing in JSON Schema. A model that was told
	// "nullable" would send a null that the authored schema refuses.
	"nullable":      {mute, mute, mute},
	"discriminator": {mute, mute, mute},
	"xml":           {mute, mute, mute},
	"externalDocs":  {mute, mute, mute},
}

var unknown = [columns]cell{tell, tell, tell}

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
		return kept
	}
	row, ok := table[keyword]
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
// One that is escaped or in a class counts too: then it is told, which is right.
func hasNoLookaround(v *value) bool {
	for _, token := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.Contains(v.text, token) {
			return false
		}
	}
	return true
}
