import { assertEquals } from "../../../../support/assert.ts";
import { resourceItems } from "../../../../../src/frontend/repl/composer/completion_lists.ts";
import { resourceSource } from "../../../../../src/frontend/repl/composer/completion_sources.ts";

type Servers = Parameters<typeof resourceItems>[1];

/** Servers with the functions that completion uses. */
function servers(uris: readonly string[], values: readonly string[] = []) {
  const asked: unknown[] = [];
  const pool: Pick<Servers, "resources" | "complete"> = {
    resources: () =>
      uris.map((uri) => ({
        server: "docs",
        resource: { uri, name: uri, description: "" },
        template: uri.includes("{"),
      })),
    complete: (_server, query) => {
      asked.push(query);
      return Promise.resolve(values);
    },
  };
  return { pool: pool as Servers, asked };
}

const inserts = async (written: string, { pool }: ReturnType<typeof servers>) =>
  (await resourceItems(written, pool)).map(({ insert, more }) => more ? `${insert}…` : insert);

Deno.test("resources are listed with files and quoted if required; many of a server are one entry", async () => {
  assertEquals(await inserts("", servers(["page://a", "page://my notes", "page://{id}"])), [
    "@docs:page://a ",
    '@"docs:page://my notes" ',
    "@docs:page://…",
  ]);
  const many = servers(Array.from({ length: 30 }, (_, at) => `page://${at}`));
  assertEquals(await inserts("", many), ["@docs:…"]);
  assertEquals((await inserts("docs:", many)).length, 30);
});

Deno.test("the current part of a template is completed by its server", async () => {
  const one = servers(["page://{id}", "other://x"], ["世界", "a b"]);
  assertEquals(await inserts("docs:page://x", one), ["@docs:page://世界 ", "@docs:page://a%20b "]);
  assertEquals(one.asked, [{ ref: { template: "page://{id}" }, argument: "id", value: "x" }]);
  const two = servers(["git://{repo}/blob/{path}"], ["main"]);
  assertEquals(await inserts("docs:git://re", two), ["@docs:git://main/blob/…"]);
  assertEquals(await inserts("docs:git://re/blob/ma", two), ["@docs:git://re/blob/main "]);
  assertEquals(two.asked.at(-1), {
    ref: { template: "git://{repo}/blob/{path}" },
    argument: "path",
    value: "ma",
  });
  assertEquals(await inserts("docs:none", servers(["page://{id}"])), ["@docs:page://…"]);
});

Deno.test("a reference after @ queries servers only for their own resources", () => {
  const source = resourceSource(() => Promise.resolve(undefined));
  const list = (before: string) => source.match(before)?.list;
  assertEquals([list("see @"), list("see @re"), list("see @docs:page")], ["", "", "docs:page"]);
  assertEquals([list("see @src/a"), list("mail a@b"), list("no")], [undefined, undefined, undefined]);
});
