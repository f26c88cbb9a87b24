import { encode } from "uqr";
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
  const { addr, auth_mode: mode, token, password_hash: passwordHash } = config;
  const port = Number(/(?:^|:)(\d+)$/.exec(addr)?.[1] ?? 0);
  const server = await serveWeb({
    ...options,
    address: { hostname: "127.0.0.1", port, orNext: true },
    behindProxy: config.behind_proxy,
    origin: config.origin || undefined,
    auth: { mode, token, passwordHash },
    sessionHours: config.session_hours,
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
