import { type Text, type WrittenMessage, writtenText } from "../../core/mod.ts";
import type { Translate } from "../translate.ts";

/** Texts of `reasonix run` on standard error. */
export const texts = (t: Translate) => ({
  theModel: t`the model`,
  waitingFor: (model: string) => t`waiting for ${model}`,
  thinking: (model: string) => t`${model} is thinking`,
  writing: (model: string) => t`${model} is writing`,
  states: { compacting: t`making room in the context`, verifying: t`testing the changes` },
  stillWaiting: (seconds: number) => t`Still waiting for the model: nothing for ${seconds} s`,
  andMore: (title: string, count: number) => t`${title} (and ${count} more)`,

  attempt: (number: number, most: number, seconds: string) => t`attempt ${number} of ${most} in ${seconds} s`,
  /** A text as events keep it. */
  written: (said: readonly WrittenMessage[] | undefined, english: string) => t`${writtenText(said, english)}`,
  because: (what: string, reason: string) => t`${what}: ${reason}`,
  waitingToTry: (number: number, most: number) => t`waiting to try again (${number} of ${most})`,
  brokeOff: t`the reply broke off; what was shown of it does not count`,
  prefixRebuilt: (reason: string, detail: string) => t`The cached prefix was rebuilt: ${reason} ${detail}`,
  prefixChanged: t`changed`,

  /** Standard input that is open. */
  input: {
    waiting: t`Waiting for standard input, which is open and has sent nothing yet …`,
    nothing: t`Nothing came on standard input; continuing without it (- waits for it)`,
    stillOpen: (bytes: number) =>
      t`Waiting for the end of standard input, which has sent ${
        bytes.toLocaleString("en")
      } bytes and is open: close it in the program that writes, or start the run with < /dev/null`,
    notText: t`Standard input is not valid UTF-8; what cannot be read is shown as \ufffd`,
  },

  /** MCP servers. */
  servers: {
    failed: (name: string, why: Text) => t`MCP server ${name} cannot be used: ${why}`,
    needsLogin: (name: string, remedy: Text) => t`MCP server ${name} needs a sign-in: ${remedy}`,
    back: (name: string, tools: number) =>
      tools === 1
        ? t`MCP server ${name} works again: 1 tool`
        : t`MCP server ${name} works again: ${tools} tools`,
  },

  /** States of a plan. */
  plan: {
    proposed: t`a plan was proposed`,
    saved: (file: string) => t`the plan is saved in ${file}`,
    approved: t`the plan is approved`,
    approvedByFlag: t`the plan is approved, as the command line says`,
    revised: (note: string) => t`the plan is to be changed: ${note}`,
    rejected: t`the plan is dropped`,
    finished: t`the plan is carried out`,
  },

  /** Agents that work on parts of the task. */
  agents: {
    began: (agent: string, task: string) => t`agent ${agent} begins: ${task}`,
    background: (agent: string, task: string) => t`agent ${agent} begins in the background: ${task}`,
    ok: (agent: string, figures: string) => t`agent ${agent} is done · ${figures}`,
    error: (agent: string, figures: string, why: string) => t`agent ${agent} failed · ${figures}: ${why}`,
    aborted: (agent: string, figures: string) => t`agent ${agent} was stopped · ${figures}`,
    calls: (count: number) => count === 1 ? t`1 call` : t`${count} calls`,
  },

  skipped: (summary: string) => t`skipped: ${summary}`,
  blocked: (summary: string) => t`blocked: ${summary}`,
  notExecuted: t`denied, not executed`,
  stopped: (summary: string) => t`stopped: ${summary}`,
  linesAbove: (count: number) => count === 1 ? t`… 1 more line above` : t`… ${count} more lines above`,
  moreLines: (count: number) => t`… ${count} more lines`,

  changed: (files: string) => t`changed ${files}`,
  moreFiles: (files: string, count: number) => t`${files} and ${count} more`,
  steps: (count: number) => count === 1 ? t`1 step` : t`${count} steps`,
  tokensIn: (tokens: string, cached: string, share: string) => t`in ${tokens} (${cached} cached, ${share})`,
  tokensOut: (tokens: string) => t`out ${tokens}`,
  tokensScripted: t`scripted figures`,
  tokensUnknown: t`tokens unknown`,
  costUnknown: t`cost unknown`,
  pricesOf: (money: string, day: string) => t`${money} (prices of ${day})`,
  someUnknown: (known: string) => t`${known} and some unknown`,
  seconds: (seconds: string) => t`${seconds} s`,
  /** Stands before what went wrong. */
  error: t`error: `,
});
