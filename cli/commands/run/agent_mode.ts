import type { RunFlags } from "../../run_flags.ts";
import type { TurnOutcome } from "../../../src/agent/mod.ts";
import { loadDoneMark } from "../../../src/features/mod.ts";
import type { Assembly, AssemblyOptions } from "../../../src/run/mod.ts";
import type { Config } from "../../../src/config/mod.ts";
import { type Event, type Message, message, ReasonixError, usageError } from "../../../src/core/mod.ts";
import type { Output, ShownTexts } from "../../../src/frontend/mod.ts";
import { terminalSafe } from "../../../src/util/terminal_text.ts";

/** Several turns of a run as flags and settings want them, and what of the answers is printed. */
export class AgentMode {
  /** Absent: as of one turn. */
  readonly output: ShownTexts | undefined;
  readonly #steps: number;
  readonly #dumps: boolean;
  #raw = "";
  /** The last text: an answer may hold only the mark that ends the turns. */
  #said = "";

  constructor(flags: RunFlags, { agent_mode }: Config) {
    this.#steps = flags.steps ?? agent_mode.default_steps;
    const output = flags.output ?? (this.#steps > 1 ? agent_mode.output : undefined);
    checkFlags(flags, { steps: this.#steps, output });
    this.output = flags.raw ? "raw" : output;
    this.#dumps = flags.verbose === true && flags.quiet !== true;
  }

  get options(): Pick<AssemblyOptions, "steps" | "onReply"> {
    const onReply = (body: string) => void (this.#raw = body);
    return { steps: this.#steps, ...(this.output === "raw" ? { onReply } : {}) };
  }

  follow(assembly: Assembly, err: Output): void {
    if (this.#steps < 2) return;
    assembly.controller.subscribe((event) => this.#event(event));
    if (!this.#dumps) return;
    const dump = new RequestDump(assembly, err);
    assembly.controller.subscribe((event) => dump.event(event));
  }

  async #event(event: Event): Promise<void> {
    if (event.type !== "turn.end") return;
    const said = (await loadDoneMark()).withoutMarks(event.answer);
    if (said !== "") this.#said = said;
  }

  async outcome(outcome: TurnOutcome): Promise<TurnOutcome> {
    if (this.output === "raw") {
      const { withoutMarks } = await loadDoneMark();
      return { ...outcome, answer: withoutMarks(payloads(this.#raw)) || outcome.answer };
    }
    return this.#steps < 2 || this.output === "full" ? outcome : { ...outcome, answer: this.#said };
  }
}

function checkFlags(
  { raw, outputFormat, jsonSchema }: RunFlags,
  { steps, output }: { readonly steps: number; readonly output: ShownTexts | undefined },
): void {
  if (raw) {
    const form = outputFormat === "text" ? undefined : `--output-format ${outputFormat}`;
    const other = output === undefined || output === "final" ? form : `--output ${output}`;
    if (other) throw contradiction("--raw", other, "--raw prints nothing but the provider's last reply");
  }
  if (steps > 1 && jsonSchema !== undefined) {
    const remedy = "--steps 1 asks for one answer, which the schema describes";
    throw contradiction("--json-schema", `${steps} turns`, remedy);
  }
}

function contradiction(flag: string, other: string, remedy: string): ReasonixError {
  return usageError(message`Cannot use ${flag} together with ${other}`, remedy);
}

/** A JSON body as it is; of a stream of events what they say, an event a line. */
function payloads(body: string): string {
  if (!/^(?:data|event|id|:)/m.test(body) || /^\s*[{[]/.test(body)) return body.trim();
  const lines = body.split(/\r\n|\n|\r/).flatMap((line) => /^data: ?(.*)$/.exec(line)?.[1] ?? []);
  return lines.filter((line) => line !== "" && line !== "[DONE]").join("\n");
}

/**
 * Writes what the provider gets before each turn: the system prompt once, then the messages that were not
 * written yet. Answers that were shown already are only named.
 */
class RequestDump {
  readonly #assembly: Assembly;
  readonly #err: Output;
  #system: string | undefined;
  #messages: readonly Message[] = [];
  #written = 0;

  constructor(assembly: Assembly, err: Output) {
    this.#assembly = assembly;
    this.#err = err;
  }

  event(event: Event): void | Promise<void> {
    if (event.type !== "message.start" || event.step !== 1) return;
    const { provider, controller: { recorder } } = this.#assembly;
    const { system } = provider.sentPrefix?.(recorder.prefix) ?? recorder.prefix;
    const parts = system === this.#system ? [] : [section("system", system)];
    this.#system = system;
    // A compaction makes another conversation.
    if (this.#messages !== recorder.messages || recorder.messages.length < this.#written) this.#written = 0;
    this.#messages = recorder.messages;
    parts.push(...this.#messages.slice(this.#written).map(described));
    this.#written = this.#messages.length;
    return this.#err.write(terminalSafe(`${parts.join("\n")}\n`));
  }
}

function section(title: string, text: string): string {
  return `--- ${title} ---\n${text.trimEnd()}`;
}

function described(message: Message): string {
  switch (message.role) {
    case "assistant": {
      const calls = message.calls ?? [];
      const lines = calls.map(({ name, arguments: args }) => `${name} ${args}`);
      return section(
        "assistant",
        [...(message.content === "" ? [] : ["(shown above)"]), ...lines].join("\n"),
      );
    }
    case "tool":
      return section(`result of ${message.callId}`, message.content);
    default:
      return section(message.role, message.content);
  }
}
