// Package jsonpath asks JSON documents questions in RFC 9535 JSONPath: all of the
// standard, over a decoded [Value] or over bytes as they pass.
//
//	path, err := jsonpath.Parse("$.users[?@.active == true].email")
//	err = path.Stream(ctx, jsonpath.ReaderAt(file, size), jsonpath.Options{}, func(m jsonpath.Match) bool {
//		fmt.Println(m.Path(), string(m.Raw))
//		return true // false: enough
//	})
//
// [Path.Select] is the plain evaluator. [Path.Stream] and [Path.Count] read the
// document once and from front to back where the question allows it, in memory that
// does not depend on the document's size:
//
//   - Names, indices, slices, wildcards and descendants look at each byte once.
//   - A filter reads a candidate, of which it decodes no more than the filter asks
//     for (@.price, not the whole of @), and goes back to where the candidate began
//     if it has to look into it.
//   - An index or a slice bound that counts from the end first counts the array's
//     elements, and goes back.
//   - $ inside a filter is the same for every candidate, so each such query is
//     answered first, in a reading of its own.
//   - The order of RFC 9535 needs one reading for each selector of a bracket, and one
//     more of every container below a descendant segment. [Options.AnyOrder] does not.
//
// "Going back" is free in [Bytes], a seek in [ReaderAt] and a second opening in
// [Reopen]. What has to be held in memory is at most [Options.Limit]; a question that needs
// more ends in a [LimitError] and never in a wrong answer.
//
// On the benchmarks' document of 100 MB a core reads in a second about 450 MB of
// $.items[*].nested.a.b.c, 500 MB of $.items[?@.score > 99.9].email, 870 MB of a count of
// $.items[*], 300 MB of $..c in document order and 110 MB in that of the RFC (2026-11-21,
// amd64, Go 1.26.8, 128 KB of buffer).
//
// # What is read
//
// A document is one value by the grammar of RFC 8259, with these decisions where that
// leaves some:
//
//   - Duplicate names: nothing is lost. A selector sees every member as written, so
//     $.a selects each "a". Where one value is meant (a query that is compared or
//     handed to a function in a filter) the last member counts, as in most parsers.
//   - Invalid UTF-8 in strings, and halves of surrogate pairs: accepted; each invalid
//     byte compares as U+FFFD, and the raw bytes are handed on as they are.
//   - Numbers are kept as written and compared by exact value, whatever their size:
//     1e400 is not infinity, and 9007199254740993 is not 9007199254740992.
//   - Nesting: up to [MaxDepth], beyond is an error with its place.
//   - A byte order mark before the value is passed over.
//
// Whatever is wrong with a document is a [DocumentError] with its byte offset. A
// stream finds it when it gets there: matches before it have been handed out, and
// nothing is read after the match at which the callback returned false.
//
// The rules are those of RFC 9535 (JSONPath) as its compliance suite checks them
// (https://github.com/jsonpath-standard/jsonpath-compliance-test-suite, commit 7be7c1f,
// read 2026-11-20), of RFC 8259 (JSON) as jsontext checks them, and of RFC 9485 (I-Regexp)
// by its grammar (https://github.com/ietf-wg-jsonpath/iregexp, iregexp.abnf, read
// 2026-11-21).
package jsonpath
