import type { EventOf } from "../core/mod.ts";
import type { Texts } from "../i18n/mod.ts";

/** A line about an MCP server. */
export interface ServerLine {
  readonly level: "info" | "warning";
  readonly text: string;
}

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
    { servers }: Pick<Texts["run"], "servers">,
  ): ServerLine | undefined {
    if (state === "failed" || state === "needs-auth") {
      const text = state === "failed" ? servers.failed(server, detail) : servers.needsLogin(server, detail);
      if (this.#down.get(server) === text) return undefined;
      this.#down.set(server, text);
      return { level: "warning", text };
    }
    if (state !== "ready" || !this.#down.delete(server)) return undefined;
    return { level: "info", text: servers.back(server, tools) };
  }
}
