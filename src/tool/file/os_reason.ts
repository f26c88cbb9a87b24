import { errorMessage } from "../../core/mod.ts";

const KINDS: readonly (readonly [new (...args: never[]) => Error, string])[] = [
  [Deno.errors.NotFound, "it does not exist"],
  [Deno.errors.PermissionDenied, "permission denied"],
  [Deno.errors.NotCapable, "outside what this session may touch"],
  [Deno.errors.AlreadyExists, "it already exists"],
  [Deno.errors.IsADirectory, "it is a directory"],
  [Deno.errors.NotADirectory, "a part of the path is not a directory"],
  [Deno.errors.FilesystemLoop, "too many levels of symbolic links"],
];

const NUMBERS: Readonly<Record<string, string>> = {
  "5": "input/output error",
  "26": "the file is being executed",
  "27": "file too large",
  "28": "no space left on the device",
  "30": "read-only file system",
  "36": "file name too long",
  "39": "the directory is not empty",
  "122": "disk quota exceeded",
};

/** The operating system's reason in words, without a path. */
export function osReason(error: unknown): string {
  for (const [kind, words] of KINDS) if (error instanceof kind) return words;
  const message = errorMessage(error);
  const number = /\(os error (\d+)\)/.exec(message)?.[1];
  return (number && NUMBERS[number]) ?? message.split("\n", 1)[0]?.replace(/: \w+ '.*$/, "") ?? message;
}
