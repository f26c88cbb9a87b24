import type { ImagePart } from "../../../core/mod.ts";
import { MAX_IMAGE_FILE_BYTES } from "../../../path/reference_text.ts";
import { findProgram, runProgram } from "../../../util/process.ts";

const LIMIT_MS = 3000;
const WINDOWS = Deno.build.os === "windows";

/** A program that writes the image of the clipboard to its standard output. */
interface ImageReader {
  readonly program: string;
  readonly args: readonly string[];
}

/** Prints `«data PNGf89504E47…»`. */
const APPLE_SCRIPT = "get the clipboard as «class PNGf»";
const POWERSHELL = "Add-Type -AssemblyName System.Windows.Forms,System.Drawing; " +
  "$i=[Windows.Forms.Clipboard]::GetImage(); if($i){$m=New-Object IO.MemoryStream; " +
  "$i.Save($m,[Drawing.Imaging.ImageFormat]::Png); " +
  "$o=[Console]::OpenStandardOutput(); $o.Write($m.ToArray(),0,$m.Length)}";

/** The programs that can be tried on this system, the likeliest first. */
function readers(env: (name: string) => string | undefined): ImageReader[] {
  if (Deno.build.os === "darwin") {
    return [{ program: "pngpaste", args: ["-"] }, { program: "osascript", args: ["-e", APPLE_SCRIPT] }];
  }
  const powershell = {
    program: WINDOWS ? "powershell" : "powershell.exe",
    args: ["-NoProfile", "-STA", "-Command", POWERSHELL],
  };
  if (WINDOWS) return [powershell];
  return [
    ...(env("WAYLAND_DISPLAY") ? [{ program: "wl-paste", args: ["--type", "image/png"] }] : []),
    ...(env("DISPLAY")
      ? [{ program: "xclip", args: ["-selection", "clipboard", "-t", "image/png", "-o"] }]
      : []),
    ...(env("WSL_DISTRO_NAME") ? [powershell] : []),
  ];
}

/** Why there is no image: no program could be asked, none is there, or it is too big (more than 32 MB). */
export type NoImage = "noTool" | "noImage" | "tooBig";

export interface ClipboardEnvironment {
  readonly env: (name: string) => string | undefined;
  /** The project, whose programs are not run. */
  readonly cwd: string;
}

/** The image of the clipboard as PNG. */
export async function clipboardImage({ env, cwd }: ClipboardEnvironment): Promise<ImagePart | NoImage> {
  const installed = readers(env).flatMap(({ program, args }) => {
    const path = findProgram(program, env("PATH") ?? "", [cwd]);
    return path === undefined ? [] : [{ path, args }];
  });
  if (installed.length === 0) return "noTool";
  for (const { path, args } of installed) {
    const bytes = pngOf(await outputOf(path, args));
    if (bytes) {
      return bytes.length > MAX_IMAGE_FILE_BYTES ? "tooBig" : { mime: "image/png", data: bytes.toBase64() };
    }
  }
  return "noImage";
}

async function outputOf(program: string, args: readonly string[]): Promise<Uint8Array> {
  try {
    return (await runProgram([program, ...args], { signal: AbortSignal.timeout(LIMIT_MS) })).stdout;
  } catch {
    return new Uint8Array();
  }
}

/** The image that a program has printed, as bytes or as AppleScript writes data. */
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
