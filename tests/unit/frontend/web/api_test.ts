import { assertEquals } from "../../../support/assert.ts";
import { openApiText, webApiPage } from "../../../../scripts/gen_web_api.ts";

Deno.test("docs/web-api.md and openapi.json equal the output of gen_web_api", async () => {
  const read = (path: string) => Deno.readTextFile(new URL(`../../../../${path}`, import.meta.url));
  assertEquals(await read("docs/web-api.md"), await webApiPage(), "run `deno task gen`");
  assertEquals(await read("src/frontend/web/openapi.json"), await openApiText(), "run `deno task gen`");
});
