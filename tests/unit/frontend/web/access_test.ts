import { Access, type AccessOptions, hashPassword, Refusal } from "../../../../src/frontend/web/access.ts";
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "../../../support/assert.ts";
import { makeTempDir } from "../../../support/tool_context.ts";
import { serveHere } from "../../../support/web.ts";

const MINUTE = 60_000;

/** A request with this secret. */
const bearing = (secret: string) =>
  new Request("http://localhost/", { headers: { authorization: `Bearer ${secret}` } });

async function statusOf(work: () => unknown): Promise<number> {
  try {
    await work();
    return 200;
  } catch (error) {
    if (error instanceof Refusal) return error.status;
    throw error;
  }
}

async function stage(given: Partial<AccessOptions["auth"]> = {}) {
  const directory = await makeTempDir();
  const clock = { now: Date.UTC(2026, 0, 1) };
  const options = { auth: { mode: "token", ...given }, sessionHours: 12 } as const;
  const kept = {
    file: `${directory.path}/serve/8787.json`,
    at: "http://127.0.0.1:8787",
    now: () => clock.now,
  };
  const access = new Access(options, kept);
  const enters = (secret: string, where = access) =>
    statusOf(() => where.visitor(bearing(secret), "127.0.0.1"));
  return {
    access,
    kept,
    /** A server that finds the file of the first one. */
    next: (at = kept.at) => new Access(options, { ...kept, at }),
    clock,
    enters,
    signIn: async (role: "owner" | "viewer") =>
      (await access.signIn({ token: access.code(role) }, "127.0.0.1")).secret,
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  };
}

Deno.test("the code of a link signs in once, and secrets outlive a killed server as hashes", async () => {
  await using at = await stage();
  const { access, kept, enters, clock } = at;
  const code = access.code("owner");
  const { secret, role, expires } = await access.signIn({ token: code }, "1.1.1.1");
  assertEquals([role, expires], ["owner", "2026-01-01T12:00:00.000Z"]);
  const again = await assertRejects(() => access.signIn({ token: code }, "1.1.1.2"), Refusal);
  assertMatch(again.message, /the link was used before/);
  assertEquals([await enters(secret), await enters(code), await enters("")], [200, 401, 401]);
  const viewer = await at.signIn("viewer");
  assertEquals(access.visitor(bearing(viewer), "").role, "viewer");

  // The next server did not see this one end.
  const text = await Deno.readTextFile(kept.file);
  assert(![secret, code, viewer].some((each) => text.includes(each)));
  if (Deno.build.os !== "windows") assertEquals(((await Deno.stat(kept.file)).mode ?? 0) & 0o777, 0o600);
  const next = at.next();
  assertEquals([await enters(secret, next), await enters(viewer, next), await enters(code, next)], [
    200,
    401,
    401,
  ]);
  assertEquals(await statusOf(() => next.signIn({ token: code }, "1.1.1.3")), 401);
  // At another address it is of no use, nor after twelve hours without use.
  assertEquals(await enters(secret, at.next("http://127.0.0.1:8788")), 401);
  for (const content of ["", "{", "null", '{"secrets":[{"hash":"00"}]}']) {
    await Deno.writeTextFile(kept.file, content);
    assertEquals(await enters(secret, at.next()), 401);
  }
  clock.now += 11 * 60 * MINUTE;
  assertEquals(await enters(secret), 200);
  clock.now += 11 * 60 * MINUTE;
  assertEquals(await enters(secret), 200);
  await access.save();
  clock.now += 12 * 60 * MINUTE;
  assertEquals([await enters(secret), await enters(secret, at.next())], [401, 401]);
});

Deno.test("a page that reads the stream stays signed in, until it signs out", async () => {
  await using at = await stage();
  const [secret, other] = [await at.signIn("owner"), await at.signIn("owner")];
  const visitor = at.access.visitor(bearing(secret), "");
  const stop = visitor.reads();
  at.clock.now += 100 * 60 * MINUTE;
  assertEquals([await at.enters(secret), await at.enters(other)], [200, 401]);
  stop();
  assertEquals(visitor.signal?.aborted, false);
  await at.access.signOut(bearing(secret));
  assertEquals([visitor.signal?.aborted, await at.enters(secret)], [true, 401]);
  assertEquals(await at.enters(secret, at.next()), 401);
});

Deno.test("a thousand tries at once check five, from all addresses together fifty", async () => {
  const passwordHash = (await import("bcryptjs")).hashSync("correct horse", 4);
  await using at = await stage({ mode: "password", passwordHash });
  const tries = async (password: string, from: (at: number) => string, count = 1000) => {
    const all = await Promise.all(
      Array.from({ length: count }, (_, i) => statusOf(() => at.access.signIn({ password }, from(i)))),
    );
    return Object.fromEntries(
      [200, 401, 429].map((status) => [status, all.filter((it) => it === status).length]),
    );
  };
  assertEquals(await tries("wrong", () => "1.1.1.1"), { 200: 0, 401: 5, 429: 995 });
  // Not even the password is of use there; elsewhere it is, and a right one takes no try.
  assertEquals(await tries("correct horse", () => "1.1.1.1", 1), { 200: 0, 401: 0, 429: 1 });
  for (let i = 0; i < 10; i++) {
    assertEquals(await tries("correct horse", () => "1.1.1.2", 1), { 200: 1, 401: 0, 429: 0 });
  }
  at.clock.now += MINUTE;
  assertEquals(await tries("wrong", () => "1.1.1.1", 10), { 200: 0, 401: 1, 429: 9 });
  // One client has all addresses of a network.
  assertEquals(await tries("wrong", (i) => `2001:db8:1:1:${i}::1`, 100), { 200: 0, 401: 5, 429: 95 });
  at.clock.now += 60 * MINUTE;
  assertEquals(await tries("wrong", (i) => `1.2.${i >> 8}.${i & 255}`), { 200: 0, 401: 50, 429: 950 });
  const late = await assertRejects(() => at.access.signIn({ password: "x" }, "3.3.3.3"), Refusal);
  assertEquals(late.headers["retry-after"], "6");
  // A link works: its code cannot be guessed.
  assertEquals((await at.access.signIn({ token: at.access.code("owner") }, "3.3.3.3")).role, "owner");
  // Secrets are not affected.
  at.clock.now += 60 * MINUTE;
  const { secret } = await at.access.signIn({ password: "correct horse" }, "1.1.1.1");
  assertEquals(await at.enters(secret), 200);
  assertEquals(await tries("correct horse" + " ".repeat(80), () => "1.1.1.1", 1), { 200: 0, 401: 1, 429: 0 });
  await assertRejects(() => hashPassword("é".repeat(40)));
  await assertRejects(() => hashPassword(""));
  assertMatch(await hashPassword("secret"), /^\$2b\$12\$/);
  assertThrows(
    () =>
      new Access({ auth: { mode: "password", passwordHash: "correct horse" }, sessionHours: 12 }, at.kept),
    Error,
    "no bcrypt hash",
  );
});

Deno.test("a fixed token is for scripts: guesses are bounded, random secrets are not counted", async () => {
  await using at = await stage({ token: "a script" });
  const enter = (secret: string, from: string) => statusOf(() => at.access.visitor(bearing(secret), from));
  assertEquals(await enter("script", "1.1.1.1"), 401);
  const statuses = new Set<number>();
  for (let i = 0; i < 20; i++) statuses.add(await enter(`guess-${i}`, "1.1.1.1"));
  assertEquals([...statuses], [401, 429]);
  assertEquals(await enter("A".repeat(43), "1.1.1.1"), 401);
  await using fixed = await stage({ token: "s3cret" });
  for (let i = 0; i < 20; i++) {
    assertEquals(await statusOf(() => fixed.access.visitor(bearing("s3cret"), "1.1.1.1")), 200);
  }
  const { role } = await fixed.access.signIn({ token: "s3cret" }, "1.1.1.1");
  assertEquals(role, "owner");
});

Deno.test("a secret is of no use at another server of the same host and home; a restart keeps it", async () => {
  await using one = await serveHere();
  const { stage } = one;
  await using two = await serveHere({ stage });
  const secret = await one.signIn(one.server.link("owner"));
  assertEquals((await one.client(secret)("/api/v1/sessions")).status !== 401, true);
  assertEquals((await two.client(secret)("/api/v1/sessions")).status, 401);
  const code = /token=([\w-]+)/.exec(one.server.link("owner"))?.[1];
  assertEquals((await two.anyone("/api/v1/sign-in", { json: { token: code } })).status, 401);
  await one.server.close();
  const port = Number(new URL(one.origin).port);
  await using again = await serveHere({ stage, web: { address: { hostname: "127.0.0.1", port } } });
  assertEquals((await again.client(secret)("/api/v1/links", { json: { role: "viewer" } })).status, 200);
  assertEquals((await one.viewer("/api/v1/sessions")).status, 401);
});
