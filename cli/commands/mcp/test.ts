import type { McpServer, ServerStatus } from "../../../src/mcp/mod.ts";
import { EXIT, formatPlace } from "../../../src/core/mod.ts";
import { oneLine, terminalSafe } from "../../../src/util/terminal_text.ts";
import { palette } from "../../../src/view/mod.ts";
import { displayOf } from "../../terminal/display.ts";
import { forReader } from "../../terminal/narrow.ts";
import type { CliContext } from "../../terminal/process.ts";
import { openNamed, type OpenServers } from "./open.ts";
import { counted, toolLines } from "./offer.ts";

/** Starts a server, says how each step went and how long it took, and ends it. */
export async function test(this: CliContext, _flags: unknown, name: string): Promise<void> {
  const { stdout } = this.process;
  const { good, bad, dim, warning } = palette(displayOf(this).outColor);
  const print = (text: string) => stdout.exact(forReader(`${text}\n`));
  let works = false;
  const onClosed = (ms: number) => works && print(`${good("✓")} ${seconds(ms)}  ended`);
  await openNamed(this, { name, onClosed }, async ({ servers, rows }: OpenServers) => {
    const server = servers.named(name);
    const row = rows.find((each) => each.name === name && each.target !== undefined);
    const where = row?.place === undefined ? "" : formatPlace(row.place);
    print(`${oneLine(name, 60)}  ${server.spec.type}  ${oneLine(row?.target ?? "", 400)}`);
    print(dim(`  ${terminalSafe(where)}${row?.state === "off" ? ", switched off there" : ""}`));
    const limit = server.spec.startupMs > 0 ? ` (at most ${server.spec.startupMs / 1000} s)` : "";
    this.process.stderr.write(`· Starting${limit}\n`);
    const begun = performance.now();
    await server.start();
    const { status } = server;
    const ended = performance.now();
    if (status.state !== "ready") {
      print(`${bad("✗")} ${seconds(ended - begun)}  ${stateText(status)}`);
      const log = logEnd(server);
      if (log.length > 0) print(["  Its last words:", ...log.map((line) => `    ${line}`)].join("\n"));
      print(dim(`  All of its log: ${terminalSafe(status.log)}`));
      this.process.exitCode = EXIT.failed;
      return;
    }
    const { about, protocol = "", capabilities = [] } = status;
    const who = oneLine([about?.name, about?.version].filter(Boolean).join(" "), 100) ||
      "a server without a name";
    print(`${good("✓")} ${seconds(status.greetedMs ?? 0)}  ${who} answers, protocol ${protocol}`);
    print(
      `${good("✓")} ${seconds(status.listedMs ?? 0)}  ${counted(status)}; ` +
        `supports ${capabilities.map((each) => oneLine(each, 40)).join(", ") || "nothing"}`,
    );
    for (const line of toolLines(servers.offers().map(({ info }) => info))) print(`  ${line}`);
    for (const problem of status.problems) print(`${warning("!")} ${oneLine(problem, 300)}`);
    works = true;
  });
}

function seconds(ms: number): string {
  return (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`).padStart(7);
}

function stateText({ state, detail = "" }: ServerStatus): string {
  return state === "needs-auth" ? `it wants a sign-in: ${detail}` : oneLine(detail || state, 1_000);
}

/** What the server itself said last; an attempt that was made twice says it twice. */
function logEnd({ log }: McpServer): string[] {
  const lines = log.last.map((line) => oneLine(line, 400));
  return lines.filter((line, at) => line !== lines[at - 1]);
}
