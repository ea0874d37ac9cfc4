// Package outputs has the commands that list, search and prune stored outputs: pawl outputs.
package outputs
