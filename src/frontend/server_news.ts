import type { Assembly } from "../assembly/mod.ts";
import type { EventOf } from "../core/mod.ts";
import type { Texts } from "../i18n/mod.ts";
import { oneLine } from "../util/terminal_text.ts";

const MAX_LINE = 1000;

/** A line about an MCP server. */
export interface ServerLine {
  readonly level: "info" | "warning";
  readonly text: string;
}

/** A session with the MCP servers that are told of. */
export type WatchedSession = Pick<Assembly, "servers" | "redact">;

type NewsTexts = Pick<Texts["run"], "servers">;

/** Says of MCP servers what people need to know: failures once each, and that one is back. */
export class ServerNews {
  /** What was said last of servers that do not work. */
  readonly #down = new Map<string, string>();

  /** Undefined where nothing is worth a line, as with a start that worked. */
  of(
    { server, state, detail = "", tools = 0 }: Pick<
      EventOf<"mcp.server">,
      "server" | "state" | "detail" | "tools"
    >,
    { servers }: NewsTexts,
  ): ServerLine | undefined {
    if (state === "failed" || state === "needs-auth") {
      const why = state === "failed" ? servers.failed(server, detail) : servers.needsLogin(server, detail);
      const text = oneLine(why, MAX_LINE);
      if (this.#down.get(server) === text) return undefined;
      this.#down.set(server, text);
      return { level: "warning", text };
    }
    if (state !== "ready" || !this.#down.delete(server)) return undefined;
    return { level: "info", text: oneLine(servers.back(server, tools), MAX_LINE) };
  }

  /**
   * Tells of the servers of a session as it happens: what is recorded of them may come with the first message
   * only. Each change is told, undefined where it is worth no line.
   */
  watch(
    { servers, redact }: WatchedSession,
    texts: () => NewsTexts,
    tell: (line: ServerLine | undefined) => void,
  ): void {
    servers?.watch(({ detail, ...change }) => {
      const shown = detail === undefined ? change : { ...change, detail: redact(detail) };
      tell(this.of(shown, texts()));
    });
  }
}
