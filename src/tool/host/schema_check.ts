/**
 * Checks values against JSON Schemas. A pattern, a format or a reference of a schema can take any time on a
 * value that a model wrote, so that such schemas are checked in a process that can be ended.
 */
import { type OutputUnit, type Schema, type SchemaDraft, Validator } from "@cfworker/json-schema";
import { errorMessage, type JsonSchema } from "../../core/mod.ts";
import { type LinePort, readLines, runInWorker, selfCommand, sendMessage } from "./worker.ts";

export interface SchemaJob {
  readonly schema: JsonSchema;
  readonly draft: SchemaDraft;
  readonly value: unknown;
}

export type { OutputUnit };

/** Returns the errors; undefined: the check took too long, or was aborted. */
export async function checkSchema(
  job: SchemaJob,
  seconds: number,
  signal?: AbortSignal,
): Promise<readonly OutputUnit[] | undefined> {
  if (!mayTakeLong(job.schema)) return errorsOf(job);
  const command = selfCommand({
    role: "schema",
    module: import.meta.url,
    cpuSeconds: 2 * seconds,
    sourceEntry: new URL("./worker_entry.ts", import.meta.url),
    flags: [],
  });
  try {
    return await runInWorker<SchemaJob, readonly OutputUnit[], readonly OutputUnit[] | undefined>(command, {
      task: job,
      onMessage: (errors) => errors,
      limitMs: seconds * 1000,
      onLimit: () => undefined,
      signal,
    });
  } catch (error) {
    if (signal?.aborted) return undefined;
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    return errorsOf(job);
  }
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
