// Package tasks has the commands about tasks: pawl task.
package tasks
