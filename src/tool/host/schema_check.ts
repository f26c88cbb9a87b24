/**
 * Checks values against JSON Schemas. A pattern, a format or a reference of a schema can take any time on a
 * value that a model wrote, so that such schemas are checked in a process that can be ended.
 */
import { type OutputUnit, type Schema, type SchemaDraft, Validator } from "@cfworker/json-schema";
import { errorMessage, type JsonSchema } from "../../core/mod.ts";
import { type LinePort, LineProcess, readLines, sendMessage } from "./line_process.ts";
import { SCHEMA_ROLE, selfCommand } from "./self_command.ts";

export interface SchemaJob {
  readonly schema: JsonSchema;
  readonly draft: SchemaDraft;
  readonly value: unknown;
}

export type { OutputUnit };

/** Limit in seconds of a check in its own process. */
export const CHECK_SECONDS = 5;

/** Returns the errors; undefined: the check took too long, or was aborted. */
export async function checkSchema(
  job: SchemaJob,
  signal?: AbortSignal,
): Promise<readonly OutputUnit[] | undefined> {
  if (!mayTakeLong(job.schema)) return errorsOf(job);
  const { promise, resolve, reject } = Promise.withResolvers<readonly OutputUnit[] | undefined>();
  let checker: LineProcess<SchemaJob, readonly OutputUnit[]>;
  try {
    checker = new LineProcess(checkerCommand(), {
      onMessage: resolve,
      onEnd: (errorOutput) =>
        reject(new Error(`The check of the answer ended early: ${errorOutput.slice(-300)}`)),
    });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    return errorsOf(job);
  }
  const giveUp = () => resolve(undefined);
  const timer = setTimeout(giveUp, CHECK_SECONDS * 1000);
  signal?.addEventListener("abort", giveUp, { once: true });
  if (signal?.aborted) giveUp();
  checker.send(job);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
    await checker.kill();
  }
}

function checkerCommand() {
  return selfCommand({
    role: SCHEMA_ROLE,
    module: import.meta.url,
    cpuSeconds: 2 * CHECK_SECONDS,
    sourceEntry: new URL("./worker_entry.ts", import.meta.url),
    flags: [],
  });
}

/** Body of the process: one check a line. */
export async function runSchemaProcess(port: LinePort): Promise<void> {
  for await (const job of readLines<SchemaJob>(port.input)) sendMessage(port, errorsOf(job));
}

function mayTakeLong(schema: JsonSchema): boolean {
  return /"(?:pattern|patternProperties|format|\$\w*[Rr]ef)":/.test(JSON.stringify(schema));
}

function errorsOf({ schema, draft, value }: SchemaJob): readonly OutputUnit[] {
  try {
    const { valid, errors } = new Validator(structuredClone(schema) as Schema, draft, false).validate(value);
    return valid ? [] : errors;
  } catch (error) {
    const place = { instanceLocation: "#", keywordLocation: "#", keyword: "$ref" };
    return [{ ...place, error: errorMessage(error) }];
  }
}
