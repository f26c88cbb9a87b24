/** The built page: its files, their names, their compression. */
import { gunzipSync } from "node:zlib";
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
    assertMatch(name, /^[a-z_]+-[0-9a-f]{10}\.(?:js|css)$/);
    const packed = files.file(name, "br, gzip");
    const plain = files.file(name, "gzip;q=0");
    const [sent, shown] = [await packed?.bytes() ?? new Uint8Array(), await plain?.bytes()];
    assertEquals(new Uint8Array(gunzipSync(sent)), shown);
    const encodings = [packed, plain].map((each) => each?.headers.get("content-encoding"));
    assertEquals(encodings, ["gzip", null]);
    assertMatch(packed?.headers.get("cache-control") ?? "", /immutable/);
    transferred += sent.length;
  }
  assert(transferred <= 110_000, `${transferred} bytes`);
  for (const name of ["", "main.js", "__proto__", "toString", "../deno.json"]) {
    assertEquals(files.file(name, "gzip"), undefined);
  }
});
