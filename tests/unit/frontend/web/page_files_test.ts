/** The built page: its files, their names, their compression. */
import { gunzipSync } from "node:zlib";
import { texts as chat } from "../../../../src/i18n/en/chat.ts";
import { texts as overlay } from "../../../../src/i18n/en/overlay.ts";
import { texts as run } from "../../../../src/i18n/en/run.ts";
import { texts as turns } from "../../../../src/i18n/en/turn_view.ts";
import { texts as web } from "../../../../src/i18n/en/web.ts";
import { CatalogueTranslator } from "../../../../src/i18n/translate.ts";
import catalogue from "../../../../src/i18n/zh-CN.json" with { type: "json" };
import { PageFiles } from "../../../../src/frontend/web/page_files.ts";
import { assert, assertEquals, assertMatch } from "../../../support/assert.ts";

Deno.test("the page is one file that names all others by their content", async () => {
  const files = await PageFiles.load();
  const page = files.file("index.html", "");
  const text = await page?.text() ?? "";
  assertEquals(page?.headers.get("cache-control"), "no-store");
  assertMatch(text, new RegExp(`data-build="${files.build}"`));
  // Content-Security-Policy: nothing is inline, and nothing comes from elsewhere.
  assert(
    !/<script(?![^>]*src=)|<style|\sstyle=|\son\w+=|https?:\/\/(?!www\.w3\.org\/2000\/svg)/.test(text),
    text,
  );
  const names = [...text.matchAll(/\/assets\/([\w.-]+)/g)].map(([, name = ""]) => name);
  assert(names.length >= 3, text);
  let transferred = 0;
  for (const name of names) {
    assertMatch(name, /^[a-z_]+-[0-9a-f]{10}\.(?:js|json|css)$/);
    const packed = files.file(name, "br, gzip");
    const plain = files.file(name, "gzip;q=0");
    const [sent, shown] = [await packed?.bytes() ?? new Uint8Array(), await plain?.bytes()];
    assertEquals(new Uint8Array(gunzipSync(sent)), shown);
    const encodings = [packed, plain].map((each) => each?.headers.get("content-encoding"));
    assertEquals(encodings, ["gzip", null]);
    assertMatch(packed?.headers.get("cache-control") ?? "", /immutable/);
    // Sentences that are in few sessions are loaded by those.
    if (!name.startsWith("rest-")) transferred += sent.length;
  }
  assert(transferred <= 110_000, `${transferred} bytes`);
  for (const name of ["", "main.js", "__proto__", "toString", "../deno.json"]) {
    assertEquals(files.file(name, "gzip"), undefined);
  }
});

Deno.test("the sentences that the page loads in Chinese are those of its texts", async () => {
  const files = await PageFiles.load();
  const read = async (name: string) => await files.file(name, "")?.text() ?? "";
  const [, first = "", rest = ""] =
    /data-sentences="\/assets\/([\w.-]+)" data-rest="\/assets\/([\w.-]+)"/.exec(
      await read("index.html"),
    ) ?? [];
  const [said, others] = [JSON.parse(await read(first)), JSON.parse(await read(rest))];
  assertEquals({ ...said, ...others }, catalogue);
  let lacks = 0;
  const { t } = new CatalogueTranslator(said, () => void lacks++);
  for (const texts of [chat, overlay, run, turns, web]) texts(t);
  assertEquals(lacks, 0);
  assertEquals([t`Explain ${"x"}`, lacks], ["Explain x", 1]);
});
