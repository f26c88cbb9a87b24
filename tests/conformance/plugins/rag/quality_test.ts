/** The right file is among the first five for questions about the documentation and Chinese texts. */
import { Searcher } from "../../../../plugins/rag/search.ts";
import { SETTINGS, type Settings } from "../../../../plugins/rag/settings.ts";
import { updateIndex } from "../../../../plugins/rag/update.ts";
import type { PluginContext } from "../../../../plugins/common/plugin.ts";
import { assert } from "../../../support/assert.ts";
import { startEmbeddingServer, writeFiles } from "../../../support/rag.ts";
import { makeTempDir } from "../../../support/tool_context.ts";
import { CHINESE, ENGLISH } from "./questions.ts";

const DOCS = new URL("../../../../docs", import.meta.url).pathname;
const FIRST = 5;

/** The texts of chinese.md, by file name. */
function chineseFiles(): Record<string, string> {
  const text = Deno.readTextFileSync(new URL("./chinese.md", import.meta.url));
  return Object.fromEntries(
    text.split(/^=== /m).slice(1).map((part) => {
      const [name = "", ...lines] = part.split("\n");
      return [name, lines.join("\n")];
    }),
  );
}

for (const [how, aim, embedding] of [["words", 0.9], ["words and vectors", 0.95, "local/grams"]] as const) {
  Deno.test(`the answer's file is among the first ${FIRST} for ${aim * 100} % of questions with ${how}`, async () => {
    await using temp = await makeTempDir();
    await using server = startEmbeddingServer();
    await writeFiles(`${temp.path}/zh`, chineseFiles());
    const indexes = { docs: { path: DOCS }, zh: { path: "zh" } };
    const context: PluginContext<Settings> = {
      settings: SETTINGS.parse({ indexes, ...(embedding ? { embedding } : {}) }),
      workspace: temp.path,
      state: `${temp.path}/state`,
      home: "",
      hidden: [],
      providers: [server.entry],
      entry: "",
      log() {},
    };
    const call = { signal: new AbortController().signal, progress() {} };
    const searcher = new Searcher(context);
    for (const [index, questions, root] of [["docs", ENGLISH, DOCS], ["zh", CHINESE, "zh"]] as const) {
      await updateIndex(context, index, call);
      const missed: string[] = [];
      for (const [query, file] of questions) {
        const { data } = await searcher.search({ query, indexes: [index] }, call);
        const paths = (data?.results as { path: string }[]).map(({ path }) => path);
        const files = [...new Set(paths)].slice(0, FIRST);
        if (!files.includes(`${root}/${file}`)) {
          missed.push(`${query}: ${file} is not in ${files.join(", ")}`);
        }
      }
      const hits = questions.length - missed.length;
      assert(
        hits >= aim * questions.length,
        `${index}: ${hits} of ${questions.length}\n${missed.join("\n")}`,
      );
    }
  });
}
