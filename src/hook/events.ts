/** The meaning of a hook's plain output, and of its refusal, at one event. */
interface EventFacts {
  /** What its matcher is compared with; absent: it has nothing to compare. */
  readonly matches?: "tool" | "source" | "reason" | "trigger" | "agent" | "kind";
  /** What a refusal (exit code 2) does; absent: nothing can be refused any more. */
  readonly refuses?: "call" | "prompt" | "end" | "compaction" | "result";
  /** Plain text on standard output is for the model, or for the summary. */
  readonly plainText?: "context" | "guide";
}

/** The events at which hooks run, by the names that other agents use too. */
export const HOOK_EVENTS = {
  PreToolUse: { matches: "tool", refuses: "call" },
  PermissionRequest: { matches: "tool", refuses: "call" },
  PostToolUse: { matches: "tool", refuses: "result" },
  PostToolUseFailure: { matches: "tool", refuses: "result" },
  UserPromptSubmit: { refuses: "prompt", plainText: "context" },
  SessionStart: { matches: "source", plainText: "context" },
  SessionEnd: { matches: "reason" },
  Stop: { refuses: "end" },
  SubagentStart: { matches: "agent", plainText: "context" },
  SubagentStop: { matches: "agent", refuses: "end" },
  PreCompact: { matches: "trigger", refuses: "compaction", plainText: "guide" },
  PostCompact: { matches: "trigger" },
  Notification: { matches: "kind" },
} as const satisfies Readonly<Record<string, EventFacts>>;

export type HookEvent = keyof typeof HOOK_EVENTS;

/** Events of other agents that have no counterpart here; a hook for one is no slip of the pen. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  "BeforeModel",
  "AfterModel",
  "BeforeTool",
  "AfterTool",
  "ConfigChange",
  "CwdChanged",
  "Elicitation",
  "ElicitationResult",
  "FileChanged",
  "InstructionsLoaded",
  "PermissionDenied",
  "PostLLMCall",
  "PostToolBatch",
  "Setup",
  "StopFailure",
  "TaskCompleted",
  "TaskCreated",
  "TeammateIdle",
  "UserPromptExpansion",
  "WorktreeCreate",
  "WorktreeRemove",
]);

export function isHookEvent(name: string): name is HookEvent {
  return Object.hasOwn(HOOK_EVENTS, name);
}

/** Reports whether other agents have an event of that name. */
export function isUnknownEvent(name: string): boolean {
  return ELSEWHERE.has(name);
}

/** What is known of an event. */
export function factsOf(event: HookEvent): EventFacts {
  return HOOK_EVENTS[event];
}
