import type { EnvLookup } from "../config/mod.ts";
import { feed, findProgram } from "../util/process.ts";

export interface ClipboardCommands {
  readonly env: EnvLookup;
  /** Directories whose programs are not run. */
  readonly untrusted: readonly string[];
  /** Writes a control sequence to the user's terminal, where there is one. */
  readonly control?: (sequence: string) => void;
}

/** How a text got to the clipboard. */
export type CopyOutcome =
  | { readonly kind: "tool"; readonly tool: string }
  /** Asked of the terminal, which does not say whether it did; `cut`: only so many characters of it. */
  | { readonly kind: "terminal"; readonly cut?: number }
  | { readonly kind: "none" };

interface Tool {
  readonly name: string;
  readonly args: readonly string[];
  /** Variable without which there is no desktop to reach. */
  readonly needs?: string;
  /** It takes other bytes for those of the machine's code page. */
  readonly utf16?: true;
}

/** A desktop that does not answer is none. */
const LIMIT_MS = 3_000;

const TOOLS: Readonly<Partial<Record<typeof Deno.build.os, readonly Tool[]>>> = {
  darwin: [{ name: "pbcopy", args: [] }],
  windows: [{ name: "clip", args: [], utf16: true }],
  linux: [
    { name: "wl-copy", args: [], needs: "WAYLAND_DISPLAY" },
    { name: "xclip", args: ["-selection", "clipboard"], needs: "DISPLAY" },
    { name: "xsel", args: ["--clipboard", "--input"], needs: "DISPLAY" },
    { name: "clip.exe", args: [], needs: "WSL_DISTRO_NAME", utf16: true },
    { name: "termux-clipboard-set", args: [], needs: "TERMUX_VERSION" },
  ],
};

/** Bytes of text that every terminal takes: 74,994 is what xterm reads of the sequence, in base64. */
const MOST_BYTES = 56_000;

/**
 * Copies a text: with a program of this machine, unless the user sits at another one (SSH), then through the
 * terminal (OSC 52).
 */
export async function copyText(text: string, ways: ClipboardCommands): Promise<CopyOutcome> {
  const { env, control } = ways;
  const isRemote = env("SSH_CONNECTION") !== undefined || env("SSH_TTY") !== undefined;
  const tool = isRemote ? undefined : await copyByTool(text, ways);
  if (tool !== undefined) return { kind: "tool", tool };
  if (!control) return { kind: "none" };
  const bytes = new TextEncoder().encode(text);
  // A cut inside a character leaves a mark in its place, which goes as well.
  const part = bytes.length <= MOST_BYTES
    ? text
    : new TextDecoder().decode(bytes.subarray(0, MOST_BYTES)).replace(/\uFFFD$/, "");
  control(`\x1b]52;c;${new TextEncoder().encode(part).toBase64()}\x07`);
  return part === text ? { kind: "terminal" } : { kind: "terminal", cut: [...part].length };
}

/** Returns the name of the program that took it. */
async function copyByTool(text: string, { env, untrusted }: ClipboardCommands): Promise<string | undefined> {
  for (const tool of TOOLS[Deno.build.os] ?? []) {
    if (tool.needs !== undefined && !env(tool.needs)) continue;
    const program = findProgram(tool.name, env("PATH") ?? "", untrusted);
    if (program !== undefined && await feeds(program, tool, text)) return tool.name;
  }
  return undefined;
}

/** Such programs stay behind to serve the clipboard, so only their input tells whether they took it. */
async function feeds(program: string, { args, utf16 }: Tool, text: string): Promise<boolean> {
  try {
    const child = new Deno.Command(program, {
      args: [...args],
      stdin: "piped",
      stdout: "null",
      stderr: "null",
      signal: AbortSignal.timeout(LIMIT_MS),
    }).spawn();
    const taken = await feed(child.stdin, utf16 ? littleEndian(text) : new TextEncoder().encode(text));
    return (await child.status).success && taken;
  } catch {
    return false;
  }
}

/** UTF-16 with the mark that says so. */
function littleEndian(text: string): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(2 * text.length + 2));
  bytes.setUint16(0, 0xfeff, true);
  for (let at = 0; at < text.length; at++) bytes.setUint16(2 * at + 2, text.charCodeAt(at), true);
  return new Uint8Array(bytes.buffer);
}
