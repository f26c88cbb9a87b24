import { insteadOfWriting, type WritePolicy } from "../../tool/mod.ts";
import prompt from "./non_interactive.md" with { type: "text" };

/** Returns the section of a system prompt about turns without a person, and about their changes. */
export function agentModePrompt(writes: WritePolicy): string {
  const policy = writes === "allow"
    ? []
    : [`Files are not to be changed in this run; ${insteadOfWriting(writes)}.`];
  return [prompt.trim(), ...policy].join("\n\n");
}
