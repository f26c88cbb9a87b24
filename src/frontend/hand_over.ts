/** The web page of a program with sessions of its own: the chat (`/web`) and a run (`--web`). */
import { encode } from "uqr";
import type { Config } from "../config/mod.ts";
import type { RunPaths } from "../run/mod.ts";
import type { LiveSessions } from "./session/live_session.ts";
import type { SessionTexts } from "./session/texts.ts";
import { serveWeb, type WebOptions, type WebServer } from "./web/mod.ts";

export interface HandOverOptions extends Pick<WebOptions, "signedIn" | "changed"> {
  readonly sessions: LiveSessions;
  readonly texts: SessionTexts;
  readonly paths: Pick<RunPaths, "cwd" | "home">;
  readonly config: Config["serve"];
}

/**
 * Starts the web page on loopback, at the configured port or the next free one. Other machines reach it as
 * `serve.origin` says, through a proxy or a tunnel.
 */
export async function handOver({ paths, config, ...options }: HandOverOptions): Promise<WebServer> {
  const { addr, auth_mode: mode, token, password_hash: passwordHash } = config;
  const port = Number(/(?:^|:)(\d+)$/.exec(addr)?.[1] ?? 0);
  return await serveWeb({
    ...options,
    address: { hostname: "127.0.0.1", port, orNext: true },
    behindProxy: config.behind_proxy,
    origin: config.origin || undefined,
    auth: { mode, token, passwordHash },
    sessionHours: config.session_hours,
    home: paths.home,
    directory: paths.cwd,
  });
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
