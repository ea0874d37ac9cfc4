import { spawn } from "node:child_process"

export const Pawl = async ({ directory }) => {
  let servers = []
  return {
    config: async (config) => {
      servers = Object.keys(config.mcp ?? {})
        .map((name) => [name, name.replace(/[^a-zA-Z0-9_-]/g, "_") + "_"])
        .sort(([, a], [, b]) => b.length - a.length) // "a_b_tool" is of a server a_b, if there is one, and not of a
      for (const server of Object.values(config.mcp ?? {})) {
        if (Array.isArray(server.command) && !server.cwd) server.command = [...elsewhere, ...server.command]
      }
      if (relaxes) config.permission = "allow"
    },
    event: async ({ event }) => {
      if (event.type === "session.status") process.stdout.write(JSON.stringify({ ...event.properties, type: "pawl_status" }) + "\n")
    },
    "tool.execute.before": (input, output) => {
      // it would attach the files that the prompt of a sub-agent mentions, wherever they are, and not ask
      if (input.tool === "task" && typeof output.args?.prompt === "string") output.args.prompt = output.args.prompt.replace(/(?<![\w`])@/g, "`@")
      return new Promise((allow, deny) => {
        let reason = ""
        const [server, prefix] = servers.find(([, prefix]) => input.tool.startsWith(prefix)) ?? []
        const hook = spawn("/bin/sh", ["-c", command], { stdio: ["pipe", "ignore", "pipe"] })
        hook.stderr.on("data", (text) => (reason += text))
        hook.on("error", deny)
        hook.on("close", (code) => (code === 0 ? allow() : deny(new Error(reason || "The hook of pawl failed."))))
        hook.stdin.on("error", () => {})
        hook.stdin.end(
          JSON.stringify({
            tool_name: input.tool,
            tool_use_id: input.callID,
            cwd: directory,
            tool_input: output.args,
            mcp_context: server && { server_name: server, tool_name: input.tool.slice(prefix.length) },
          }),
        )
      })
    },
  }
}
