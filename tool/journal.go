package tool

import "pawl/tool/journal"

// journal returns the journal of the workspace.
func (env Env) journal() journal.Journal { return journal.In(env.StateDir) }

// hashOf returns the SHA-256 of content as the journal and the log have it.
func hashOf(content []byte) string { return journal.Hash(content) }
