import {
  type AgentConnection,
  type ClientCapabilities,
  methods,
  RequestError,
  type SendRequestOptions,
} from "@agentclientprotocol/sdk";
import { errorMessage, message, ReasonixError } from "../../core/mod.ts";
import { contains } from "../../path/lexical.ts";
import { realPath } from "../../path/real_path.ts";
import type { ClientFiles } from "../../tool/mod.ts";
import { isRecord } from "../../util/json.ts";

/** The code of an error that names a file or session that is not there. */
const NOT_FOUND = -32002;

/**
 * The text files that an editor has in the directories of a session, as far as it offers to read and write
 * them. The editor gets paths below a directory in its spelling of the directory, which may be a link; the
 * rest of a path is real. Protocol 2 has no such methods.
 */
export function clientFiles(
  connection: Pick<AgentConnection, "client" | "signal">,
  sessionId: string,
  capabilities: Pick<ClientCapabilities, "fs">,
  directories: readonly string[],
): ClientFiles | undefined {
  const { readTextFile = false, writeTextFile = false } = capabilities.fs ?? {};
  if (!readTextFile && !writeTextFile) return undefined;
  const roots = directories.map((given) => ({
    given: given.replace(/(?<=[^/])\/+$/, ""),
    real: realPath(given),
  }));
  const inSpelling = (path: string) => {
    const [root] = roots.filter(({ real }) => contains(real, path))
      .toSorted((a, b) => b.real.length - a.real.length);
    return root ? root.given + path.slice(root.real.length) : path;
  };
  const { client, signal: closed } = connection;
  const { fs } = methods.client;
  const ask = async (request: (sent: SendRequestOptions) => Promise<unknown>, signal: AbortSignal) => {
    try {
      return await request({ cancellationSignal: signal, stopWaitingOnCancel: true });
    } catch (error) {
      if (closed.aborted) throw new ReasonixError(message`the connection to the editor has ended`);
      if (!(error instanceof RequestError) || error.code === NOT_FOUND) throw error;
      throw new Error(reasonOf(error), { cause: error });
    }
  };
  const read: ClientFiles["read"] = async (path, signal) => {
    try {
      const params = { sessionId, path: inSpelling(path) };
      const answer = await ask((sent) => client.request(fs.readTextFile, params, sent), signal);
      if (isRecord(answer) && typeof answer.content === "string") return answer.content;
      throw new Error("There is no text in its answer");
    } catch (error) {
      if (error instanceof RequestError && error.code === NOT_FOUND) return undefined;
      throw error;
    }
  };
  const write: ClientFiles["write"] = async (path, content, signal) => {
    const params = { sessionId, path: inSpelling(path), content };
    await ask((sent) => client.request(fs.writeTextFile, params, sent), signal);
  };
  return {
    directories: roots.map(({ real }) => real),
    ...(readTextFile ? { read } : {}),
    ...(writeTextFile ? { write } : {}),
  };
}

/** The message of an error is often only the name of its code, with the reason as data. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof RequestError)) return errorMessage(error);
  const { message, data } = error;
  const detail = isRecord(data) ? data.details ?? data.message : data;
  return typeof detail === "string" && !message.includes(detail) ? `${message}: ${detail}` : message;
}
