/** An index of 20,000 chunks from nothing and unchanged, and a query of 50,000 chunks with vectors. */
import { DatabaseSync } from "node:sqlite";
import { openPlugin } from "../../support/plugin_client.ts";
import { startEmbeddingServer } from "../../support/rag.ts";
import { Random } from "../../support/seed.ts";
import { type Row, row } from "../report.ts";
import type { Bench } from "../runner.ts";
import { removeTree } from "../../support/remove_tree.ts";

const ROUNDS = 5;
const CHUNKS_OF_FILE = 10;
const CHUNKS = 20_000;
const MORE_CHUNKS = 50_000;
const DIMENSIONS = 768;
const VOCABULARY = 8000;
const NOTHING_MS = 4000;
const UNCHANGED_MS = 300;
const QUERY_MS = 60;

export async function ragRows(
  { file, scratch, quick }: Pick<Bench, "quick"> & { readonly file?: string; readonly scratch: string },
): Promise<Row[]> {
  const random = new Random(1);
  const workspace = `${scratch}/rag`;
  writeDocuments(`${workspace}/docs`, CHUNKS, random);
  writeDocuments(`${workspace}/more`, MORE_CHUNKS, random);
  await using server = startEmbeddingServer(DIMENSIONS);
  const settings = { indexes: { docs: { path: "docs" }, more: { path: "more" } } };
  const providers = { providers: [server.entry], providerHosts: [server.host] };
  const home = `${scratch}/rag-home`;
  const nothing: number[] = [];
  const unchanged: number[] = [];
  for (let round = 0; round < (quick ? 2 : ROUNDS); round++) {
    await removeTree(home).catch(() => {});
    await using plugin = await openPlugin("rag", { file, workspace, home, settings });
    for (const times of [nothing, unchanged]) {
      const began = performance.now();
      await call(plugin, "rag_update", { index: "docs" });
      times.push(performance.now() - began);
    }
  }
  const queries: number[] = [];
  {
    await using plugin = await openPlugin("rag", { file, workspace, home, settings });
    await call(plugin, "rag_update", { index: "more" });
  }
  addVectors(`${home}/plugins/rag`, random);
  const embedding = { ...settings, embedding: "local/numbers" };
  await using plugin = await openPlugin("rag", { file, workspace, home, settings: embedding, ...providers });
  for (let n = 0; n < (quick ? 5 : 20); n++) {
    const words = Array.from({ length: 4 }, () => `w${random.below(VOCABULARY)}`).join(" ");
    const began = performance.now();
    await call(plugin, "ragsearch", { query: words, indexes: ["more"] });
    // The first query reads the vectors.
    if (n > 0) queries.push(performance.now() - began);
  }
  return [
    row({ figure: "rag: 20,000 chunks from nothing", unit: "ms", reasonix: nothing, target: NOTHING_MS }),
    row({ figure: "rag: 20,000 chunks unchanged", unit: "ms", reasonix: unchanged, target: UNCHANGED_MS }),
    row({
      figure: "rag: query of 50,000 chunks with 768 dimensions",
      unit: "ms",
      reasonix: queries,
      target: QUERY_MS,
    }),
  ];
}

type Opened = Awaited<ReturnType<typeof openPlugin>>;

async function call({ client }: Opened, name: string, args: Record<string, unknown>): Promise<void> {
  const { isError, content, structuredContent } = await client.callTool({ name, arguments: args });
  const { notes = [] } = structuredContent as { readonly notes?: readonly string[] };
  if (isError || notes.length > 0) throw new Error(JSON.stringify(content));
}

/** Markdown with one chunk of about 1,000 characters under each heading. */
function writeDocuments(root: string, chunks: number, random: Random): void {
  for (let file = 0; file < chunks / CHUNKS_OF_FILE; file++) {
    const directory = `${root}/${file % 40}`;
    Deno.mkdirSync(directory, { recursive: true });
    const lines: string[] = [];
    for (let chunk = 0; chunk < CHUNKS_OF_FILE; chunk++) {
      lines.push(`## Part ${chunk}`, "");
      for (let line = 0; line < 10; line++) {
        const words = Array.from({ length: 16 }, () => `w${Math.floor(random.next() ** 2 * VOCABULARY)}`);
        lines.push(words.join(" "));
      }
      lines.push("");
    }
    Deno.writeTextFileSync(`${directory}/${file}.md`, lines.join("\n"));
  }
}

/** Gives random vectors to all chunks, which a server would need minutes for. */
function addVectors(state: string, random: Random): void {
  const [name] = [...Deno.readDirSync(state)].map(({ name }) => name).filter((name) =>
    /^more.*sqlite$/.test(name)
  );
  const database = new DatabaseSync(`${state}/${name}`);
  const insert = database.prepare("INSERT OR REPLACE INTO vectors VALUES (?, ?)");
  database.exec("BEGIN");
  for (const { hash } of database.prepare("SELECT DISTINCT hash FROM chunks").all()) {
    const vector = Float32Array.from({ length: DIMENSIONS }, () => random.next() - 0.5);
    insert.run(hash ?? null, new Uint8Array(vector.buffer));
  }
  for (const [key, value] of [["embedding_signature", "local/numbers"], ["vector_dim", String(DIMENSIONS)]]) {
    database.prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)").run(key ?? "", value ?? "");
  }
  database.exec("COMMIT");
  database.close();
}
