package main

import (
	"strings"

	"github.com/spf13/cobra"

	"pawl/output"
)

func outputsStatsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stats [ID]",
		Short: "Show what is in a document: size, kinds of values, what is at which path",
		Long: `Shows what is in a document. Of a file, what long arrays hold is seen from their first elements;
lengths and numbers of values are exact. --all looks at every element.`,
		Example: "  pawl outputs stats\n  pawl outputs stats c_3 --depth 8\n  pawl outputs stats --file big.json --schema\n  curl -s https://example.org/data | pawl outputs stats --file -",
	}
	flags := cmd.Flags()
	flags.StringArray("path", nil, "only what this `path` selects; repeatable")
	flags.Int("depth", 5, "levels that are shown, 1 to 10")
	flags.Bool("schema", false, "a JSON Schema of it too")
	all := flags.Bool("all", false, "look at every element of every array")
	return query[output.StatsArgs, output.StatsResult]{
		arguments: map[string]string{"path": "paths", "depth": "max_depth", "schema": "include_schema"},
		more: func() (map[string]any, error) {
			if *all {
				return map[string]any{"sample_arrays": false}, nil
			}
			return nil, nil
		},
		check: func(args output.StatsArgs) error { return checkPaths(args.Paths...) },
		ask:   (*output.Document).Stats,
		print: printStats,
	}.add(a, cmd)
}

func outputsCountCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "count [ID] --count [NAME=]PATH",
		Short: "Count elements, keys or matches; each count is exact",
		Long: `Counts the elements of the arrays that a path selects, or the matches themselves if no array is
among them. --type counts something else. A name and its number are printed on a line.`,
		Example: `  pawl outputs count --count '$.users'
  pawl outputs count c_3 --count '$.users' --filter '@.active == true'
  pawl outputs count --file big.json --count 'all=$.users' --count 'high=$.users[?@.score>99]'
  pawl outputs count --file big.json --count '$' --type nested_total`,
	}
	flags := cmd.Flags()
	counts := flags.StringArray("count", nil, "a `path`, with a name in front as high=$.users[?@.score>99]; repeatable")
	filter := flags.String("filter", "", "count only what passes this `filter`, as @.active == true")
	kind := flags.String("type", "", "count `what`: array_length, object_keys, matches, nested_total")
	complete(cmd, "type", "array_length", "object_keys", "matches", "nested_total")
	return query[output.CountArgs, output.CountResult]{
		more: func() (map[string]any, error) {
			if len(*counts) == 0 {
				return nil, usage("nothing to count: say what with --count '$.users', or --count 'high=$.users[?@.score>99]'")
			}
			var all []output.CountOf
			for _, text := range *counts {
				c := output.CountOf{Path: text, Filter: *filter, Type: output.CountType(*kind)}
				if name, path, ok := strings.Cut(text, "="); ok && !strings.HasPrefix(text, "$") {
					c.Name, c.Path = name, path
				}
				all = append(all, c)
			}
			return map[string]any{"counts": all}, nil
		},
		check: func(args output.CountArgs) error {
			for _, c := range args.Counts {
				if err := checkPaths(c.Path); err != nil {
					return err
				}
			}
			return checkFilter(*filter)
		},
		ask:   (*output.Document).Count,
		print: printCounts,
	}.add(a, cmd)
}

func outputsSampleCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sample [ID]",
		Short: "Print some items of an array, one a line",
		Long: `Prints some items of an array, by chance, in the order of the array. With the same --seed it is the
same items on every machine. Without --path it is the first array.`,
		Example: `  pawl outputs sample --path '$.users' --size 5
  pawl outputs sample --file big.json --strategy stratified --strata @.city --seed 7`,
	}
	flags := cmd.Flags()
	flags.String("path", "", "the array, or what to choose from, as a `path`")
	flags.Int("size", 10, "how `many`, 1 to 1000")
	flags.String("strategy", "random", "`how`: random, first, last, systematic, stratified")
	flags.Uint64("seed", 0, "makes chance repeatable")
	flags.Int("stride", 0, "how far items of a systematic sample are apart")
	flags.String("strata", "", "what of an item says to which group it belongs, a `path` as @.kind")
	complete(cmd, "strategy", "random", "first", "last", "systematic", "stratified")
	return query[output.SampleArgs, output.SampleResult]{
		arguments: map[string]string{"path": "path", "size": "size", "strategy": "strategy", "seed": "seed", "stride": "stride", "strata": "strata_path"},
		check: func(args output.SampleArgs) error {
			if err := checkPaths(args.Path); err != nil {
				return err
			}
			return checkWithin(args.StrataPath)
		},
		ask:   (*output.Document).Sample,
		print: printSample,
	}.add(a, cmd)
}

func outputsSearchCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "search [ID] PATTERN",
		Short: "Find text by a regular expression: lines with numbers, values of JSON with paths",
		Long: `Finds text by a regular expression (RE2). Of JSON and JSON Lines it prints the path and the value of
whatever matches, names too; of everything else the line and its number. It ends with 1 if nothing
matches.`,
		Example: `  pawl outputs search c_3 'FAIL|panic'
  pawl outputs search 'timeout' --context 2
  pawl outputs search --file big.json '@example\.org$' --limit 1000`,
	}
	flags := cmd.Flags()
	flags.Int("context", 0, "`lines` around a match, 0 to 20; of JSON, if not 0, what it stands in")
	flags.Int("limit", 50, "print at most this `many`, 1 to 1000; all are counted")
	pattern := ""
	q := query[output.SearchArgs, output.SearchResult]{
		arguments: map[string]string{"context": "context", "limit": "limit"},
		more:      func() (map[string]any, error) { return map[string]any{"pattern": pattern}, nil },
		check:     checkPattern,
		ask:       (*output.Document).Search,
		print:     printFound,
	}
	q.add(a, cmd)
	rest := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage("search for what? Give a pattern, as 'FAIL|panic'")
		}
		pattern = args[len(args)-1]
		return rest(cmd, args[:len(args)-1])
	}
	return cmd
}

func outputsAggregateCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "aggregate [ID]",
		Short: "Compute a sum, average, minimum, maximum or count, by group",
		Long: `Computes a figure of the items of an array, or of each group of them. Sums are exact. Without --path
it is the first array, without --value the items themselves.`,
		Example: `  pawl outputs aggregate --path '$.orders' --value @.price --op sum --by @.city
  pawl outputs aggregate --file big.json --path '$.users[*].email' --op distinct`,
	}
	flags := cmd.Flags()
	flags.String("path", "", "the items, as a `path`")
	flags.String("value", "", "the value within an item, a `path` as @.price")
	flags.String("by", "", "what groups items, a `path` as @.city")
	flags.String("op", "count", "`what`: sum, avg, min, max, count, distinct")
	complete(cmd, "op", "sum", "avg", "min", "max", "count", "distinct")
	return query[output.AggregateArgs, output.AggregateResult]{
		arguments: map[string]string{"path": "path", "value": "value_path", "by": "group_by", "op": "op"},
		check: func(args output.AggregateArgs) error {
			if err := checkPaths(args.Path); err != nil {
				return err
			}
			return checkWithin(args.ValuePath, args.GroupBy)
		},
		ask:   (*output.Document).Aggregate,
		print: printFigures,
	}.add(a, cmd)
}
