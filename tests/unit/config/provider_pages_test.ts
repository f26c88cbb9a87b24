import { parse } from "smol-toml";
import { VENDORS } from "../../../src/config/mod.ts";
import { vendorEntry } from "../../../src/config/vendors.ts";
import { canonicalJson } from "../../../src/util/json.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { configFixture } from "./fixture.ts";

const DOCS = new URL("../../../docs/", import.meta.url);
const PAGES = [...Deno.readDirSync(new URL("providers", DOCS))].map(({ name }) => `providers/${name}`).sort();

function blocks(page: string): string[] {
  return [...Deno.readTextFileSync(new URL(page, DOCS)).matchAll(/^```toml\n(.*?)^```/gms)].map((
    [, text = ""],
  ) => text);
}

for (const page of ["providers.md", "config.md", ...PAGES]) {
  Deno.test(`each configuration of docs/${page} loads without a diagnostic`, async () => {
    const texts = blocks(page);
    if (page !== "config.md") assert(texts.length > 0, "a page without an entry helps no reader");
    for (const text of texts) {
      await using fixture = configFixture({ "home/config.toml": text });
      const { config, warnings } = await fixture.load();
      assertEquals(warnings, [], text);
      if (page === "config.md") continue;
      for (const { base_url, server, models, model } of config.providers) {
        assert(
          (server !== undefined || URL.canParse(base_url)) && (model !== undefined || models !== undefined),
          text,
        );
      }
    }
  });
}

Deno.test("docs/providers.md links each page, and each vendor page has the entry that setup writes", () => {
  const index = Deno.readTextFileSync(new URL("providers.md", DOCS));
  for (const page of PAGES) assertStringIncludes(index, `(${page})`);
  for (const vendor of VENDORS) {
    const [first = ""] = blocks(`providers/${vendor.name}.md`);
    assertEquals(canonicalJson(parse(first).providers), canonicalJson([vendorEntry(vendor)]));
  }
});

Deno.test("each provider page explains the key, the window and how to check", () => {
  for (const page of PAGES) {
    const text = Deno.readTextFileSync(new URL(page, DOCS));
    for (const part of ["**Key.**", "**Window.**", "**Check.**", "doctor --online", "(../providers.md)"]) {
      assertStringIncludes(text, part, page);
    }
  }
});
