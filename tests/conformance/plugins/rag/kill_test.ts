/** Updates that are killed at any point leave an index that opens, and the next one completes it. */
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { assert, assertEquals } from "../../../support/assert.ts";
import { openRag, startEmbeddingServer, writeFiles } from "../../../support/rag.ts";
import { Random, SEED, soakSize } from "../../../support/seed.ts";

const MAIN = fileURLToPath(new URL("../../../../plugins/main.ts", import.meta.url));
const CONFIG = fileURLToPath(new URL("../../../../deno.json", import.meta.url));
const FILES = 60;

function textOf(random: Random, name: string): string {
  const sections = Array.from({ length: 1 + random.below(4) }, (_, n) => {
    const words = Array.from({ length: 60 }, () => `w${random.below(500)}`).join(" ");
    return `## ${name} ${n}\n\n${words}\n配置权限规则\n`;
  });
  return sections.join("\n");
}

/** Returns files, chunks, words and vectors of an index in an order that does not depend on their history. */
function contentOf(path: string): unknown {
  const database = new DatabaseSync(path);
  const all = (sql: string) => database.prepare(sql).all().map((row) => JSON.stringify(Object.values(row)));
  try {
    return [
      all("PRAGMA integrity_check"),
      all("SELECT path, hash, size, lines, problem FROM files ORDER BY path"),
      all(
        "SELECT files.path, first, last, title, text, hex(vector) FROM chunks JOIN files ON files.id = file " +
          "LEFT JOIN vectors ON vectors.hash = chunks.hash ORDER BY files.path, first",
      ),
      all("SELECT hex(hash) FROM vectors ORDER BY hash"),
      all(
        "SELECT key, value FROM meta WHERE key IN ('embedding_signature', 'vector_dim', 'unfinished') ORDER BY key",
      ),
      ...["w7", '"w8 w9"', '"配置"'].map((query) =>
        all(
          "SELECT files.path, first, round(bm25(words), 9) FROM words JOIN chunks ON chunks.id = words.rowid " +
            `JOIN files ON files.id = file WHERE words MATCH '${query}' ORDER BY 3, 1, 2`,
        )
      ),
      all("SELECT count(*) FROM words"),
      all("SELECT count(*) FROM grams"),
    ];
  } finally {
    database.close();
  }
}

function databaseIn(state: string): string {
  const [name = ""] = [...Deno.readDirSync(state)].map(({ name }) => name).filter((name) =>
    name.endsWith(".sqlite")
  );
  return `${state}/${name}`;
}

Deno.test("an index survives kill -9 at any point of an update", async () => {
  const random = new Random(SEED);
  await using server = startEmbeddingServer(16);
  const settings = { embedding: "local/grams" };
  const more = { providers: [server.entry] };
  const files = Object.fromEntries(
    Array.from({ length: FILES }, (_, n) => [`${n}.md`, textOf(random, `n${n}`)]),
  );
  await using rag = await openRag(files, settings, more);
  const env = {
    REASONIX_PLUGIN_SETTINGS: JSON.stringify({ indexes: { docs: { path: "docs" } }, ...settings }),
    REASONIX_PLUGIN_CONTEXT: JSON.stringify({ workspace: rag.path, state: `${rag.path}/state`, ...more }),
  };
  const start = () =>
    new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", "--no-check", `--config=${CONFIG}`, MAIN, "rag", "update", "docs"],
      env,
      stdout: "null",
      stderr: "piped",
    }).spawn();
  let killed = 0;
  const kills = soakSize(300, 4);
  for (let n = 0; killed < kills; n++) {
    const changes = Array.from({ length: 10 }, () => `${random.below(FILES)}.md`);
    await writeFiles(rag.docs, Object.fromEntries(changes.map((name) => [name, textOf(random, name)])));
    await Deno.remove(`${rag.docs}/${random.below(FILES)}.md`).catch(() => {});
    // A signal counts from the first sign of work, wherever the process is then.
    const child = start();
    const before = server.requests;
    const wait = random.chance(0.5) ? random.below(250) : 0;
    const requests = random.below(4);
    const ended = child.status.then(() => true);
    const isTime = async () => {
      const until = performance.now() + 150 + wait;
      while (performance.now() < until && (wait > 0 || server.requests - before < requests)) {
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      return false;
    };
    if (await Promise.race([ended, isTime()])) {
      await child.stderr.cancel();
      continue;
    }
    if (n % 5 === 0) {
      const found = await rag.search("w7").catch((error) => error.message);
      assert(typeof found !== "string" || found.includes("not been built yet"), String(found));
    }
    try {
      child.kill("SIGKILL");
    } catch { /* It has ended meanwhile. */ }
    const { signal } = await child.status;
    await child.stderr.cancel();
    if (signal === "SIGKILL") killed++;
  }
  await rag.update();
  await using fresh = await openRag({}, settings, more);
  await Deno.remove(fresh.docs);
  await Deno.rename(rag.docs, fresh.docs);
  await fresh.update();
  assertEquals(contentOf(databaseIn(`${rag.path}/state`)), contentOf(databaseIn(`${fresh.path}/state`)));
});
