import { assert, assertEquals, assertMatch, assertRejects } from "../../../support/assert.ts";
import { ReasonixError } from "../../../../src/core/mod.ts";
import { createProvider, listModels } from "../../../../src/provider/create_provider.ts";
import { checkMemory } from "../../../../src/provider/managed/server_plan.ts";
import { fakeLlama } from "../../../support/fake_llama.ts";
import { providerEntry } from "../../../support/model_client.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

type Spoil = (directory: string) => Record<string, unknown>;

const CASES: Readonly<Record<string, readonly [spoil: Spoil, setting: string, message: RegExp]>> = {
  "no model file": [
    (dir) => ({ model_path: `${dir}/none.gguf` }),
    "server.model_path",
    /none\.gguf does not exist$/,
  ],
  "no path at all": [() => ({ model_path: "" }), "server", /names no model_path$/],
  "a directory": [(dir) => ({ model_path: dir }), "server.model_path", /is not a file$/],
  "another file": [
    (dir) => ({ model_path: `${dir}/llama-server` }),
    "server.model_path",
    /is not a model file: it begins with "#!\/b" instead of "GGUF"$/,
  ],
  "an empty file": [
    (dir) => (Deno.writeTextFileSync(`${dir}/empty.gguf`, ""), { model_path: `${dir}/empty.gguf` }),
    "server.model_path",
    /begins with "" instead/,
  ],
  "a pointer of Git LFS": [
    (
      dir,
    ) => (Deno.writeTextFileSync(`${dir}/lfs.gguf`, "version https://git-lfs"),
      { model_path: `${dir}/lfs.gguf` }),
    "server.model_path",
    /is a Git LFS pointer/,
  ],
  "a missing part": [
    (dir) => {
      Deno.copyFileSync(`${dir}/tiny.gguf`, `${dir}/big-00001-of-00002.gguf`);
      return { model_path: `${dir}/big-00001-of-00002.gguf` };
    },
    "server.model_path",
    /big-00002-of-00002\.gguf is missing$/,
  ],
  "a missing draft model": [
    (dir) => ({ draft_model_path: `${dir}/d.gguf` }),
    "server.draft_model_path",
    /d\.gguf does not exist$/,
  ],
  "no such program": [(dir) => ({ binary: `${dir}/none` }), "server.binary", /which is not a file$/],
  "a program that is not on PATH": [() => ({ binary: "no-such-llama" }), "server.binary", /is not on PATH$/],
  "a program that is not executable": [
    (dir) => ({ binary: `${dir}/tiny.gguf` }),
    "server.binary",
    /which is not executable$/,
  ],
  "a relative program": [() => ({ binary: "bin/llama-server" }), "server.binary", /not a full path$/],
  "ports the wrong way round": [() => ({ port_range: [9, 8] }), "server.port_range", /is \[9,8\]$/],
  "a separate port": [
    () => ({ extra_flags: ["--port=8080"] }),
    "server.extra_flags",
    /extra_flags may not contain --port$/,
  ],
};

for (const [name, [spoil, setting, message]] of Object.entries(CASES)) {
  Deno.test({
    name: `a llamacpp entry with ${name} is rejected with its setting`,
    ignore: Deno.build.os === "windows",
    async fn() {
      await using temp = await makeTempDir();
      const { binary, model } = fakeLlama(temp.path);
      const server = { binary, model_path: model, ...spoil(temp.path) };
      const entry = providerEntry({ kind: "llamacpp", server });
      const values = { home: `${temp.path}/home` };
      const error = await assertRejects(
        () => createProvider({ entry, model: "m", version: "1", values }),
        ReasonixError,
      );
      assertMatch(error.message, message);
      assertEquals([error.exit, error.setting], ["config", setting]);
      assert(error.remedy);
    },
  });
}

Deno.test("a model larger than the memory is an error with both sizes", async () => {
  await using temp = await makeTempDir();
  const { model } = fakeLlama(temp.path);
  Deno.truncateSync(model, 30e9);
  let thrown: unknown;
  try {
    checkMemory("own", [model], 8e9);
  } catch (error) {
    thrown = error;
  }
  assert(thrown instanceof ReasonixError);
  assertMatch(thrown.message, /tiny\.gguf needs 30 GB, and 8\.0 GB of memory are available$/);
  assertMatch(thrown.remedy ?? "", /check_memory = false/);
  checkMemory("own", [model], 31e9);
});

Deno.test("the models of a llamacpp entry are listed without a server", async () => {
  const entry = providerEntry({ kind: "llamacpp", models: ["a", "b"] });
  assertEquals(await listModels({ entry, version: "1" }), ["a", "b"]);
});
