import { errorMessage, message, ReasonixError, type Text } from "../../core/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { unlessAborted } from "../../util/timer.ts";
import type { ClientFiles, WorkspacePolicy } from "../tool.ts";

/** Longest waits for an editor, in milliseconds. It may format a file before it saves it. */
const LIMITS = { read: 10_000, write: 60_000 } as const;

const MAX_REASON = 300;

type Access = keyof typeof LIMITS;

/** The editor did not read or write a file. That of the port is the reason alone, as a part of a sentence. */
export class EditorError extends ReasonixError {
  /** late: the wait was ended, and the request may still take effect; gone: the connection has ended. */
  readonly kind: "answered" | "late" | "gone";

  constructor(reason: Text, kind: EditorError["kind"], remedy?: Text) {
    super(reason, remedy === undefined ? {} : { remedy });
    this.kind = kind;
  }
}

/**
 * Files of a client that are read and written within the path policy, and with bounded waits.
 * Failures are {@linkcode EditorError}s; a path that the policy refuses is never named to the client.
 */
export function guardedFiles(
  files: ClientFiles,
  paths: WorkspacePolicy,
  limits: Readonly<Record<Access, number>> = LIMITS,
): ClientFiles {
  const ask = async <T>(
    access: Access,
    path: string,
    signal: AbortSignal,
    request: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    signal.throwIfAborted();
    const real = await paths[access](path);
    if (real !== path || paths.hidden(path)) {
      throw new ReasonixError(`Cannot ${access} ${path} in the editor: the path leads elsewhere`, {
        exit: "blocked",
      });
    }
    const late = AbortSignal.timeout(limits[access]);
    const either = AbortSignal.any([signal, late]);
    try {
      return await unlessAborted(request(either), either);
    } catch (error) {
      signal.throwIfAborted();
      if (late.aborted) {
        throw new EditorError(message`the editor did not answer within ${limits[access] / 1000} s`, "late");
      }
      if (error instanceof ReasonixError) throw new EditorError(error.texts.message, "gone");
      const reason = oneLine(errorMessage(error), MAX_REASON);
      throw new EditorError(message`the editor refused it (${reason})`, "answered");
    }
  };
  const { directories } = files;
  return {
    directories,
    ...(files.read
      ? { read: (path, signal) => ask("read", path, signal, async (each) => await files.read?.(path, each)) }
      : {}),
    ...(files.write
      ? {
        write: (path, text, signal) =>
          ask("write", path, signal, async (each) => await files.write?.(path, text, each)),
      }
      : {}),
  };
}
