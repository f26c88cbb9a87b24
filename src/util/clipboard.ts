import type { ImagePart } from "../core/mod.ts";
import { MAX_IMAGE_FILE_BYTES } from "../path/reference_text.ts";
import { findProgram, runProgram } from "./process.ts";

export interface ClipboardEnvironment {
  readonly env: (name: string) => string | undefined;
  readonly untrusted: readonly string[];
}

interface Program {
  readonly name: string;
  readonly args: readonly string[];
  /** Variable without which there is no desktop to reach. */
  readonly needs?: string;
  /** It takes other bytes for those of the machine's code page. */
  readonly utf16?: true;
}

/** Programs that take a text on standard input, the likeliest first. */
const WRITERS: Readonly<Record<string, readonly Program[]>> = {
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

/** Prints `«data PNGf89504E47…»`. */
const APPLE_SCRIPT = "get the clipboard as «class PNGf»";
const POWERSHELL = "Add-Type -AssemblyName System.Windows.Forms,System.Drawing; " +
  "$i=[Windows.Forms.Clipboard]::GetImage(); if($i){$m=New-Object IO.MemoryStream; " +
  "$i.Save($m,[Drawing.Imaging.ImageFormat]::Png); " +
  "$o=[Console]::OpenStandardOutput(); $o.Write($m.ToArray(),0,$m.Length)}";
const POWERSHELL_ARGS = ["-NoProfile", "-STA", "-Command", POWERSHELL];

const READERS: Readonly<Record<string, readonly Program[]>> = {
  darwin: [{ name: "pngpaste", args: ["-"] }, { name: "osascript", args: ["-e", APPLE_SCRIPT] }],
  windows: [{ name: "powershell", args: POWERSHELL_ARGS }],
  linux: [
    { name: "wl-paste", args: ["--type", "image/png"], needs: "WAYLAND_DISPLAY" },
    { name: "xclip", args: ["-selection", "clipboard", "-t", "image/png", "-o"], needs: "DISPLAY" },
    { name: "powershell.exe", args: POWERSHELL_ARGS, needs: "WSL_DISTRO_NAME" },
  ],
};

const LIMIT_MS = 3_000;

function installed(
  programs: Readonly<Record<string, readonly Program[]>>,
  { env, untrusted }: ClipboardEnvironment,
): (Program & { readonly path: string })[] {
  return (programs[Deno.build.os] ?? []).flatMap((program) => {
    if (program.needs !== undefined && !env(program.needs)) return [];
    const path = findProgram(program.name, env("PATH") ?? "", untrusted);
    return path === undefined ? [] : [{ ...program, path }];
  });
}

/** Reason for which there is no image: no program to ask, none in the clipboard, or more than 32 MB. */
export type NoImage = "noTool" | "noImage" | "tooBig";

export async function clipboardImage(environment: ClipboardEnvironment): Promise<ImagePart | NoImage> {
  const programs = installed(READERS, environment);
  if (programs.length === 0) return "noTool";
  for (const { path, args } of programs) {
    const signal = AbortSignal.timeout(LIMIT_MS);
    const output = await runProgram([path, ...args], { signal }).catch(() => undefined);
    const bytes = output && pngOf(output.stdout);
    if (bytes) {
      return bytes.length > MAX_IMAGE_FILE_BYTES ? "tooBig" : { mime: "image/png", data: bytes.toBase64() };
    }
  }
  return "noImage";
}

/** Reads the image that a program printed, as bytes or in the way AppleScript writes data. */
function pngOf(output: Uint8Array): Uint8Array | undefined {
  if (isPng(output)) return output;
  if (output.length > 4 * MAX_IMAGE_FILE_BYTES) return undefined;
  const hex = /^«data PNGf([0-9A-F]+)»/i.exec(new TextDecoder().decode(output))?.[1];
  const bytes = hex === undefined || hex.length % 2 > 0 ? undefined : Uint8Array.fromHex(hex);
  return bytes && isPng(bytes) ? bytes : undefined;
}

function isPng(bytes: Uint8Array): boolean {
  return [0x89, 0x50, 0x4e, 0x47].every((byte, index) => bytes[index] === byte);
}

export interface CopyOptions extends ClipboardEnvironment {
  /** Writes a control sequence to the user's terminal, if there is one. */
  readonly control?: (sequence: string) => void;
}

export type CopyOutcome =
  | { readonly kind: "tool"; readonly tool: string }
  /** The terminal does not confirm; `cut`: the number of characters sent, when that was not all. */
  | { readonly kind: "terminal"; readonly cut?: number }
  | { readonly kind: "none" };

/** Bytes of text that every terminal takes: 74,994 is what xterm reads of the sequence, in base64. */
const MOST_BYTES = 56_000;

/** Copies a text with a program, or through the terminal (OSC 52), as for users connected by SSH. */
export async function copyText(text: string, options: CopyOptions): Promise<CopyOutcome> {
  const { env, control } = options;
  const isRemote = env("SSH_CONNECTION") !== undefined || env("SSH_TTY") !== undefined;
  for (const program of isRemote ? [] : installed(WRITERS, options)) {
    if (await takes(program, text)) return { kind: "tool", tool: program.name };
  }
  if (!control) return { kind: "none" };
  const bytes = new TextEncoder().encode(text);
  // A cut inside a character leaves a mark in its place, which is removed as well.
  const part = bytes.length <= MOST_BYTES
    ? text
    : new TextDecoder().decode(bytes.subarray(0, MOST_BYTES)).replace(/\uFFFD$/, "");
  control(`\x1b]52;c;${new TextEncoder().encode(part).toBase64()}\x07`);
  return part === text ? { kind: "terminal" } : { kind: "terminal", cut: [...part].length };
}

/** Writers stay running to serve the clipboard: accepted input means success. */
async function takes({ path, args, utf16 }: Program & { readonly path: string }, text: string) {
  try {
    const child = new Deno.Command(path, {
      args: [...args],
      stdin: "piped",
      stdout: "null",
      stderr: "null",
      signal: AbortSignal.timeout(LIMIT_MS),
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(utf16 ? littleEndian(text) : new TextEncoder().encode(text));
    await writer.close();
    return (await child.status).success;
  } catch {
    return false;
  }
}

function littleEndian(text: string): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(2 * text.length + 2));
  bytes.setUint16(0, 0xfeff, true);
  for (let at = 0; at < text.length; at++) bytes.setUint16(2 * at + 2, text.charCodeAt(at), true);
  return new Uint8Array(bytes.buffer);
}
