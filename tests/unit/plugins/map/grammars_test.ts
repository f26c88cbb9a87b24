import { createHash } from "node:crypto";
import { inflateRawSync } from "node:zlib";
import { Language, Parser, Query } from "web-tree-sitter";
import { LANGUAGES } from "../../../../plugins/map/languages.ts";
import { grammarFile, grammarSource } from "../../../../scripts/bundle/grammars.ts";
import { assertEquals } from "../../../support/assert.ts";

Deno.test("grammarFile has the parser, and a grammar of each language whose query compiles", async () => {
  const { bytes, modules } = await grammarFile();
  const head = new DataView(bytes.buffer).getUint32(0, true);
  const index = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + head)));
  const part = ([offset, length]: readonly [number, number]) =>
    new Uint8Array(inflateRawSync(bytes.subarray(4 + head + offset, 4 + head + offset + length)));
  assertEquals(Object.keys(index), ["parser", ...LANGUAGES.map(({ name }) => name)]);
  assertEquals(modules.some((path) => path.endsWith("/tree-sitter-go.wasm")), true);
  const digest = createHash("sha256");
  await Parser.init({ wasmBinary: part(index.parser.wasm) });
  for (const { name } of LANGUAGES) {
    const source = await grammarSource(name);
    assertEquals(new TextDecoder().decode(part(index[name].query)), source.query);
    const query = new Query(await Language.load(part(index[name].wasm)), source.query);
    assertEquals(query.captureNames.includes("name"), true);
    query.delete();
    digest.update(source.wasm).update(source.query);
  }
  const hint = "raise FORMAT in plugins/map/index.ts, so that caches are made again; then record this digest";
  assertEquals(digest.digest("hex").slice(0, 16), "b1bb704d3766f15a", hint);
});
