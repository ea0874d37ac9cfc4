package controller

// Schema is the JSON Schema of the object, authored once for all providers and
// byte-stable. It is flat and has only words that all of them keep (the project's
// table of providers, November 2026): no combinators, references, bounds, titles or
// defaults, and every object is closed. args is a string that holds a JSON object,
// because an untyped object is refused or emptied by strict structured output. What
// belongs together is checked after parsing, by [Parse].
const Schema = `{
  "type": "object",
  "properties": {
    "action": {
      "type": "string",
      "enum": ["next_step", "complete", "guardrail_stop", "ask_user"],
      "description": "What to do now. next_step: one step of the work. complete: the task is done. guardrail_stop: the task must not go on. ask_user: a question only the person can answer."
    },
    "thinking": {
      "type": "object",
      "description": "Your reasons. Mandatory when action is next_step.",
      "properties": {
        "task": {"type": "string", "description": "What is to be done now"},
        "facts": {"type": "array", "items": {"type": "string"}, "description": "What is known"},
        "decisions": {"type": "array", "items": {"type": "string"}, "description": "What was decided, and why"},
        "risks": {"type": "array", "items": {"type": "string"}, "description": "What could go wrong"},
        "confidence": {"type": "number", "description": "From 0 to 1"}
      },
      "additionalProperties": false
    },
    "type": {
      "type": "string",
      "enum": ["tool", "respond", "ask_user"],
      "description": "For next_step: what kind of step"
    },
    "description": {"type": "string", "description": "What this step is for, in a few words, shown to people"},
    "tool": {"type": "string", "description": "For a tool step: the name of the tool"},
    "args": {"type": "string", "description": "For a tool step: the arguments, as a string that holds a JSON object"},
    "tools": {
      "type": "array",
      "description": "For a tool step: several independent calls at once, instead of tool and args",
      "items": {
        "type": "object",
        "properties": {
          "tool": {"type": "string", "description": "The name of the tool"},
          "args": {"type": "string", "description": "The arguments, as a string that holds a JSON object"}
        },
        "additionalProperties": false
      }
    },
    "message": {"type": "string", "description": "For respond and complete: what the person is told. Optional for guardrail_stop"},
    "reason": {"type": "string", "description": "For guardrail_stop: why"},
    "question": {"type": "string", "description": "For ask_user: the question"},
    "context": {"type": "string", "description": "For ask_user: what the person needs to know to answer"},
    "resume_to": {
      "type": "string",
      "enum": ["reflecting", "controller"],
      "description": "For ask_user: after the answer, look back at the goal first (reflecting) or decide at once (controller)"
    }
  },
  "required": ["action"],
  "additionalProperties": false
}
`
