import { openPatchRequests, type PatchRequest } from "../../../src/commit/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { FakeGitHub, HAS_GH } from "../../support/fake_github.ts";
import { needs } from "../../support/tools.ts";
import { git } from "../worktree/support.ts";
import { makeStage, type Person, remotes, type Stage } from "./support.ts";

/** Lists what was created before, and answers each creation with its branch. */
const STAND_IN = `
head=""
for word in "$@"; do [ "$before" = --head ] && head="$word"; before="$word"; done
if [ "$2" = list ]; then
  if grep -qx "$head" "$HOME/created" 2>/dev/null
  then echo '[{"url":"https://github.com/me/tool/pull/of-'"$head"'","headRepositoryOwner":{"login":"me"}}]'
  else echo "[]"; fi
  exit
fi
if [ -e "$HOME/fails" ]; then cat "$HOME/fails" >&2; exit 1; fi
cat > "$HOME/body-$(basename "$head")"
echo "$head" >> "$HOME/created"
echo "https://github.com/me/tool/pull/of-$head"
`;

const DATE = "2026-03-01T09:30:00.000Z";

/** The patch that writes a text into a file of the repository. */
async function patch(stage: Stage, id: string, path: string, text: string): Promise<PatchRequest> {
  await stage.write(path, text);
  await stage.git("add", "-N", ".");
  const file = `${stage.temp}/${id}.patch`;
  await Deno.writeTextFile(file, await stage.git("diff", "--binary", "--full-index", "--", path));
  await stage.git("reset", "-q", "--hard");
  await Deno.remove(`${stage.dir}/${path}`).catch(() => {});
  await stage.git("checkout", "-q", ".");
  const base = (await stage.git("rev-parse", "HEAD")).trim();
  const body = (home: string) => `Body of ${id} in ${home}`;
  return { id, name: id, file, base, repo: undefined, date: DATE, title: `Title of ${id}`, body };
}

async function run(
  stage: Stage,
  requests: readonly PatchRequest[],
  { base, ...person }: Person & { readonly base?: string } = {},
) {
  const environment = { GIT_CONFIG_GLOBAL: `${stage.temp}/gitconfig`, ...person.environment };
  const played = stage.play({ ...person, environment });
  const done = await openPatchRequests({
    ...{ cwd: stage.dir, draft: false, yes: person.answers === undefined, rate: 1e6, base, requests },
    signal: new AbortController().signal,
    host: played.host,
  }).catch((error: unknown) => error);
  return { done, seen: played.seen(), questions: played.questions };
}

const branches = async (stage: Stage, name = "origin") =>
  (await git(`${stage.temp}/${name}.git`, "for-each-ref", "--format=%(refname:lstrip=2)")).trim().split("\n");

async function begin(): Promise<Stage> {
  const stage = await makeStage();
  await remotes(stage, "git@github.com:me/tool.git");
  await stage.program("gh", STAND_IN);
  return stage;
}

Deno.test("openPatchRequests opens one for each patch, and leaves tree, index and branch of the user as they are", async () => {
  await using stage = await begin();
  // Programs that a checkout, an add or a commit of this repository would run; only a push may run its own.
  const ran = `${stage.temp}/ran`;
  for (
    const hook of ["pre-commit", "post-checkout", "post-index-change", "reference-transaction", "pre-push"]
  ) {
    await Deno.writeTextFile(`${stage.dir}/.git/hooks/${hook}`, `#!/bin/sh\necho ${hook} >> "${ran}"\n`, {
      mode: 0o755,
    });
  }
  await stage.git("config", "filter.x.clean", `sh -c 'echo clean >> "${ran}"; cat'`);
  await stage.git("config", "filter.x.smudge", `sh -c 'echo smudge >> "${ran}"; cat'`);
  await stage.write(".gitattributes", "* filter=x\n");
  await stage.git("-c", "core.hooksPath=/dev/null", "add", ".gitattributes");
  await stage.git("commit", "-qnm", "Filter");
  await git(stage.dir, "push", "-q", `${stage.temp}/origin.git`, "main");
  await stage.git("update-ref", "refs/remotes/origin/main", "HEAD");
  const first = await patch(stage, "first", "a.txt", "two\n");
  const second = await patch(stage, "second", "new/file.bin", "\0\x01binary");
  await stage.write("a.txt", "open work\n");
  await stage.write("staged.txt", "x");
  await stage.git("add", "staged.txt");
  const state = async () => [
    await stage.git("status", "--porcelain"),
    await stage.git("rev-parse", "HEAD"),
    await stage.git("branch", "--list"),
  ];
  const before = await state();
  await Deno.writeTextFile(ran, "");
  const { done, seen } = await run(stage, [first, second]);
  // A push runs them, as every push of the user does.
  const programs = new Set((await Deno.readTextFile(ran)).trim().split("\n"));
  assertEquals([...programs].sort(), ["pre-push", "reference-transaction"]);
  assertEquals(await state(), before);
  assertEquals(done, true, seen);
  const [one = "", two = ""] = (await branches(stage)).filter((name) => name.startsWith("reasonix/"));
  assert(/^reasonix\/first-[0-9a-f]{8}$/.test(one) && /^reasonix\/second-[0-9a-f]{8}$/.test(two), one + two);
  const origin = `${stage.temp}/origin.git`;
  assertEquals(await git(origin, "show", `${one}:a.txt`), "two\n");
  assertEquals(await git(origin, "show", `${two}:new/file.bin`), "\0\x01binary");
  assertEquals(
    await git(origin, "log", "-1", "--format=%s %an %aI", one),
    "Title of first Test 2026-03-01T09:30:00+00:00\n",
  );
  assertEquals(
    await Deno.readTextFile(`${stage.temp}/body-${one.replace("reasonix/", "")}`),
    "Body of first in github.com/me/tool/",
  );
  assertStringIncludes(seen, `first: https://github.com/me/tool/pull/of-${one}\n`);
  assertStringIncludes(seen, "Pull requests: 2 opened, 0 were there, 0 failed");

  const again = await run(stage, [first, second]);
  assertStringIncludes(again.seen, "Pull requests: 0 opened, 2 were there, 0 failed");
  assertEquals((await Deno.readTextFile(`${stage.temp}/created`)).trim().split("\n").length, 2);
});

Deno.test("openPatchRequests continues after a patch that fails, with a line that says why", async () => {
  await using stage = await begin();
  const good = await patch(stage, "good", "a.txt", "two\n");
  const stale = { ...good, id: "stale", file: `${stage.temp}/stale.patch` };
  await Deno.writeTextFile(stale.file, (await Deno.readTextFile(good.file)).replace("-one", "-other"));
  await stage.git("commit", "-q", "--allow-empty", "-m", "Not pushed");
  const local = { ...good, id: "local", base: (await stage.git("rev-parse", "HEAD")).trim() };
  const { done, seen } = await run(stage, [stale, { ...good, id: "bare", base: undefined }, local, good]);
  assertEquals(done, false);
  assertStringIncludes(seen, "Cannot commit the patch of stale: patch failed");
  assertStringIncludes(seen, "Cannot commit the patch of bare: its result names no commit");
  assertStringIncludes(seen, `the patch of local: origin/main does not contain the commit ${local.base}`);
  assertStringIncludes(seen, "run git fetch origin, or name its branch with --base");
  assertStringIncludes(seen, "good: https://github.com/me/tool/pull/");
  assertStringIncludes(seen, "Pull requests: 1 opened, 0 were there, 3 failed");
});

Deno.test("openPatchRequests asks once, and stops where all would fail", async () => {
  await using stage = await begin();
  const requests = [
    await patch(stage, "first", "a.txt", "two\n"),
    await patch(stage, "second", "a.txt", "three\n"),
  ];
  const left = await run(stage, requests, { answers: ["n"] });
  assertEquals(left.done, false);
  assertEquals(left.questions, [
    "Push 2 branches to origin (git@github.com:me/tool.git), and open a pull request for each?",
  ]);
  assertEquals(await branches(stage), ["main"]);

  await Deno.writeTextFile(`${stage.temp}/fails`, "GraphQL: was submitted too quickly (createPullRequest)");
  const limited = await run(stage, requests);
  assert(limited.done instanceof ReasonixError && limited.done.exit === "provider", String(limited.done));
  assertStringIncludes(limited.done.remedy ?? "", "a lower --rate");
  assertEquals((await branches(stage)).length, 2);
  // Its branch is there; the text of a task that was pushed before is not pushed again.
  await Deno.remove(`${stage.temp}/fails`);
  const more = await run(stage, requests);
  assertStringIncludes(more.seen, "Pull requests: 2 opened, 0 were there, 0 failed");

  await stage.program("gh", "echo 'gh auth login' >&2; exit 4");
  const { done } = await run(stage, requests);
  assert(done instanceof ReasonixError && done.exit === "config", String(done));
});

Deno.test("openPatchRequests pushes a branch once although each signature makes another commit", async () => {
  await using stage = await begin();
  const request = await patch(stage, "first", "a.txt", "two\n");
  // A signature that differs each time.
  await stage.program(
    "sign",
    `cat > /dev/null; printf '\\n[GNUPG:] SIG_CREATED \\n' >&2; echo "-----BEGIN PGP SIGNATURE-----"
date +%N; echo "-----END PGP SIGNATURE-----"`,
  );
  await stage.git("config", "commit.gpgsign", "true");
  await stage.git("config", "gpg.program", `${stage.temp}/bin/sign`);
  await Deno.writeTextFile(`${stage.temp}/fails`, "lost");
  assertEquals((await run(stage, [request])).done, false);
  await Deno.remove(`${stage.temp}/fails`);
  const { done, seen } = await run(stage, [request]);
  assertEquals(done, true, seen);
  const [, branch = ""] = await branches(stage);
  assertStringIncludes(
    await git(`${stage.temp}/origin.git`, "cat-file", "-p", branch),
    "BEGIN PGP SIGNATURE",
  );
});

Deno.test("openPatchRequests finds the repository of each patch by its path or address", async () => {
  await using stage = await begin();
  const own = await patch(stage, "own", "a.txt", "two\n");
  const other = `${stage.temp}/other.git`;
  await git(stage.temp, "init", "-q", "--bare", "-b", "main", other);
  await git(stage.dir, "push", "-q", other, "main");
  const path = `${stage.temp}/clone`;
  await git(stage.temp, "clone", "-q", other, path);
  await git(path, "remote", "set-url", "origin", "https://github.com/me/by-path");
  await Deno.writeTextFile(
    `${stage.temp}/gitconfig`,
    "[user]\n\tname = Test\n\temail = t@example.com\n" +
      ["https://github.com/me/other", "https://github.com/me/by-path"].map((url) =>
        `[url "${other}"]\n\tinsteadOf = ${url}\n`
      ).join(""),
    { append: true },
  );
  const requests = [
    { ...own, id: "same", name: "same", repo: "https://github.com/me/tool" },
    { ...own, id: "path", name: "path", repo: path },
    { ...own, id: "url", name: "url", repo: "https://github.com/me/other" },
    { ...own, id: "gone", name: "gone", repo: `${stage.temp}/gone` },
  ];
  const { seen, done } = await run(stage, requests);
  assertEquals(done, false, seen);
  assertStringIncludes(seen, "Pull requests: 3 opened, 0 were there, 1 failed");
  assertStringIncludes(seen, "Cannot clone");
  const named = (names: readonly string[]) => names.map((name) => name.replace(/-[0-9a-f]{8}$/, ""));
  assertEquals(named(await branches(stage)), ["main", "reasonix/same"]);
  assertEquals(named(await branches(stage, "other")), ["main", "reasonix/path", "reasonix/url"]);
});

Deno.test({
  ...needs("gh", HAS_GH, "openPatchRequests opens no second pull request with the real gh"),
  async fn() {
    await using stage = await makeStage();
    await using github = await FakeGitHub.start("me/tool");
    await remotes(stage, "git@github.com:me/tool.git");
    const requests = [
      await patch(stage, "first", "a.txt", "two\n"),
      await patch(stage, "second", "a.txt", "three\n"),
    ];
    const person = { environment: github.env };
    // The service opens the first one, and its answer is lost.
    github.failures.push({
      matches: ({ operation }) => operation === "PullRequestCreate",
      answer: { status: 502, afterwards: true },
    });
    const first = await run(stage, requests, person);
    assertEquals(first.done, false);
    assertStringIncludes(first.seen, "Pull requests: 1 opened, 0 were there, 1 failed");
    // One that a person has closed is not opened again either.
    const [closed] = github.pulls;
    if (closed) closed.state = "CLOSED";
    const again = await run(stage, requests, person);
    assertEquals(again.done, true, again.seen);
    assertStringIncludes(again.seen, "Pull requests: 0 opened, 2 were there, 0 failed");
    assertEquals(github.pulls.map(({ title }) => title), ["Title of first", "Title of second"]);
    github.failures.push({
      matches: ({ operation }) => operation === "PullRequestCreate",
      answer: { status: 429 },
    });
    const third = await patch(stage, "third", "a.txt", "four\n");
    const { done } = await run(stage, [third], person);
    assert(done instanceof ReasonixError && done.exit === "provider", String(done));
  },
});
