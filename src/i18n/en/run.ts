/** What `reasonix run` says on standard error while it works, and at its end. */
export const texts = {
  theModel: "the model",
  waitingFor: (model: string) => `waiting for ${model}`,
  thinking: (model: string) => `${model} is thinking`,
  writing: (model: string) => `${model} is writing`,
  states: { compacting: "making room in the context", verifying: "testing the changes" },
  stillWaiting: (seconds: number) => `Still waiting for the model: nothing for ${seconds} s`,
  andMore: (title: string, count: number) => `${title} (and ${count} more)`,

  attempt: (number: number, most: number, seconds: string) => `attempt ${number} of ${most} in ${seconds} s`,
  because: (what: string, reason: string) => `${what}: ${reason}`,
  waitingToTry: (number: number, most: number) => `waiting to try again (${number} of ${most})`,
  brokeOff: "the reply broke off; what was shown of it does not count",
  prefixRebuilt: (reason: string, detail: string) => `The cached prefix was rebuilt: ${reason} ${detail}`,
  prefixChanged: "changed",

  /** Standard input that is open. */
  input: {
    waiting: "Waiting for standard input, which is open and has sent nothing yet …",
    nothing: "Nothing came on standard input; continuing without it (- waits for it)",
    stillOpen: (bytes: number) =>
      `Waiting for the end of standard input, which has sent ${
        bytes.toLocaleString("en")
      } bytes and is open: ` +
      "close it in the program that writes, or start the run with < /dev/null",
    notText: "Standard input is not valid UTF-8; what cannot be read is shown as \ufffd",
  },

  /** MCP servers. */
  servers: {
    failed: (name: string, why: string) => `MCP server ${name} cannot be used: ${why}`,
    needsLogin: (name: string, remedy: string) => `MCP server ${name} needs a sign-in: ${remedy}`,
    back: (name: string, tools: number) =>
      `MCP server ${name} works again: ${tools} ${tools === 1 ? "tool" : "tools"}`,
  },

  /** What became of a plan. */
  plan: {
    proposed: "a plan was proposed",
    saved: (file: string) => `the plan is saved in ${file}`,
    approved: "the plan is approved",
    approvedByFlag: "the plan is approved, as the command line says",
    revised: (note: string) => `the plan is to be changed: ${note}`,
    rejected: "the plan is dropped",
    finished: "the plan is carried out",
  },

  /** Agents that work on parts of the task. */
  agents: {
    began: (agent: string, task: string) => `agent ${agent} begins: ${task}`,
    background: (agent: string, task: string) => `agent ${agent} begins in the background: ${task}`,
    ok: (agent: string, figures: string) => `agent ${agent} is done · ${figures}`,
    error: (agent: string, figures: string, why: string) => `agent ${agent} failed · ${figures}: ${why}`,
    aborted: (agent: string, figures: string) => `agent ${agent} was stopped · ${figures}`,
    calls: (count: number) => `${count} ${count === 1 ? "call" : "calls"}`,
  },

  skipped: (summary: string) => `skipped: ${summary}`,
  blocked: (summary: string) => `blocked: ${summary}`,
  notExecuted: "denied, not executed",
  stopped: (summary: string) => `stopped: ${summary}`,
  linesAbove: (count: number) => `… ${count} more ${count === 1 ? "line" : "lines"} above`,
  moreLines: (count: number) => `… ${count} more lines`,

  changed: (files: string) => `changed ${files}`,
  moreFiles: (files: string, count: number) => `${files} and ${count} more`,
  steps: (count: number) => `${count} ${count === 1 ? "step" : "steps"}`,
  tokensIn: (tokens: string, cached: string, share: string) => `in ${tokens} (${cached} cached, ${share})`,
  tokensOut: (tokens: string) => `out ${tokens}`,
  tokensScripted: "scripted figures",
  tokensUnknown: "tokens unknown",
  costUnknown: "cost unknown",
  pricesOf: (money: string, day: string) => `${money} (prices of ${day})`,
  someUnknown: (known: string) => `${known} and some unknown`,
  seconds: (seconds: string) => `${seconds} s`,
  /** Stands before what went wrong. */
  error: "error: ",
};
