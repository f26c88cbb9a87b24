import { encode } from "uqr";
import { message, usageError } from "../../../src/core/mod.ts";
import { FRONTENDS, type WebPage, type WebPageOptions } from "../../../src/frontend/mod.ts";
import type { RunPaths } from "../../../src/run/mod.ts";

/**
 * Starts the web page of a program that has sessions: the chat (`/web`) or a run (`--web`). It listens on
 * loopback, at the configured port or the next free one; other machines reach it as `serve.origin` says,
 * through a proxy or a tunnel.
 */
export async function handOver(
  { config, ...options }: WebPageOptions,
  { home, cwd }: Pick<RunPaths, "cwd" | "home">,
): Promise<WebPage> {
  const { serveWeb } = await FRONTENDS.web();
  const given = serverOptions(config, true);
  const server = await serveWeb({
    ...options,
    ...given,
    address: { ...given.address, hostname: "127.0.0.1" },
    home,
    directory: cwd,
  });
  return {
    get readers() {
      return server.readers;
    },
    link: (role, session) => server.link(role, session),
    code: qrLines,
    close: () => server.close(),
  };
}

/** The options that the table `serve` of the configuration sets. */
export function serverOptions(config: WebPageOptions["config"], orNext: boolean) {
  const { auth_mode: mode, token, password_hash: passwordHash } = config;
  return {
    address: { ...addressOf(config.addr), orNext },
    behindProxy: config.behind_proxy,
    origin: config.origin || undefined,
    auth: { mode, token, passwordHash },
    sessionHours: config.session_hours,
  };
}

/** Reads `host:port`, a port, or a host. */
function addressOf(text: string): { readonly hostname: string; readonly port: number } {
  const [, ipv6, name, digits] = /^(?:\[([\da-f:.]+)\]|([\w.-]*))(?::(\d+))?$/i.exec(text) ?? [];
  const isPort = /^\d+$/.test(name ?? "") && digits === undefined;
  const port = Number(isPort ? name : digits ?? 8787);
  if (text === "" || ipv6 === undefined && name === undefined || port > 65_535) {
    throw usageError(
      message`Cannot listen on "${text}"`,
      message`give host and port, such as 127.0.0.1:8787 or [::1]:8787`,
    );
  }
  return { hostname: ipv6 ?? (isPort ? "127.0.0.1" : name || "0.0.0.0"), port };
}

/** Black on white in the palette of 256 colors, which no theme changes. */
const [INK, RESET] = ["\x1b[38;5;16;48;5;231m", "\x1b[0m"];
const HALVES = [" ", "▀", "▄", "█"] as const;

/**
 * Draws a QR code, two of its rows in a line. Without colors the light modules are drawn, for a dark
 * background.
 */
export function qrLines(text: string, colors: boolean): string[] {
  const { data } = encode(text, { ecc: "L", border: 2 });
  const drawn = (row: readonly boolean[] | undefined, at: number) => row?.[at] === colors ? 1 : 0;
  const pairs = data.flatMap((row, y) => y % 2 === 0 ? [[row, data[y + 1]] as const] : []);
  return pairs.map(([upper, lower]) => {
    const line = upper.map((_, at) => HALVES[drawn(upper, at) + 2 * drawn(lower, at)]).join("");
    return colors ? `${INK}${line}${RESET}` : line;
  });
}
