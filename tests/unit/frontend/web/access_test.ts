import { assertEquals } from "../../../support/assert.ts";
import { serveHere } from "../../../support/web.ts";

Deno.test("a link signs in once", async () => {
  await using web = await serveHere();
  const link = web.server.link("owner");
  const secret = await web.signIn(link);
  assertEquals((await (await web.client(secret)("/api/v1/server")).json()).role, "owner");
});
