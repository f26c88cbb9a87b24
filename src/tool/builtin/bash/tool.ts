import { defineBuiltin } from "../../builtin_tool.ts";
import { commandLine } from "../../third_party_calls.ts";
import description from "./description.md" with { type: "text" };

export const BASH = defineBuiltin({
  name: "bash",
  description,
  properties: {
    command: { type: "string" },
    workdir: { type: "string", description: "Folder for this call only" },
    timeout_ms: { type: "integer", minimum: 1, description: "Less than the usual limit" },
    run_in_background: { type: "boolean", description: "Returns a job id at once" },
  },
  required: ["command"],
  readOnly: false,
  title: ({ command }) => `$ ${command}`,
  synonyms: {
    cmd: "command",
    script: "command",
    cwd: "workdir",
    timeout: "timeout_ms",
    background: "run_in_background",
    description: null,
  },
  unoffered: {
    max_output_chars: { type: "integer", minimum: 1, description: "Less than the usual limit" },
  },
  translate: (args) => ({
    ...args,
    ...(args.command === undefined ? {} : { command: commandLine(args.command) }),
  }),
  family: "Bash",
  command: ({ command, workdir }) => ({
    line: String(command),
    ...(typeof workdir === "string" && workdir !== "" ? { directory: workdir } : {}),
  }),
  check: async (args, context) => await (await import("./bash.ts")).cannotBegin(args, context),
  load: async () => (await import("./bash.ts")).bash,
});
