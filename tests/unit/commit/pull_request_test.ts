import { createAgent } from "../../../mod.ts";
import { openPullRequest } from "../../../src/commit/mod.ts";
import { addressOf, compareAddress, fitTemplate } from "../../../src/commit/pull_request.ts";
import { cleanMessage } from "../../../src/commit/writing.ts";
import { styleOf } from "../../../src/commit/commit.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { say, scriptedProvider } from "../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { FakeGitHub, HAS_GH } from "../../support/fake_github.ts";
import { needs } from "../../support/tools.ts";
import { makeStage, type Person, type Played, remotes, type Stage } from "./support.ts";

/** A program of a host that records its arguments and its standard input, and answers from files. */
const STAND_IN = `
log="$HOME/$(basename "$0").log"
printf '%s\\n' "$*" | head -1 >> "$log"
if [ "$2" = list ]; then
  cat "$HOME/list.json" 2>/dev/null || echo "[]"
  exit "$(cat "$HOME/list.code" 2>/dev/null || echo 0)"
fi
if [ -e "$HOME/fails" ]; then echo "GraphQL: something is wrong" >&2; exit 1; fi
case "$*" in *"--body-file -"*) cat > "$HOME/body";; *) printf '%s' "$*" > "$HOME/body";; esac
echo "https://example.org/pull/7"
`;

async function commits(stage: Stage, branch?: string): Promise<void> {
  if (branch !== undefined) await stage.git("switch", "-qc", branch);
  await stage.write("a.txt", "two\n");
  await stage.git("commit", "-qam", "Use two");
}

interface Case extends Person {
  readonly name: string;
  readonly stage: (stage: Stage) => Promise<unknown>;
  readonly base?: string;
  readonly draft?: boolean;
  readonly yes?: boolean;
  readonly hint?: string;
  readonly error?: RegExp;
  readonly seen?: readonly string[];
  /** Branches of origin afterwards. */
  readonly pushed?: readonly string[];
  readonly check?: (
    stage: Stage,
    played: Played,
    again: (person: Person) => Promise<Played>,
  ) => Promise<void>;
}

const read = (stage: Stage, name: string) => Deno.readTextFile(`${stage.temp}/${name}`).catch(() => "");
const TEXT = "Use two\n\nOne was not enough.";

const CASES: readonly Case[] = [
  {
    name: "pushes the branch and opens a draft with gh, whose standard input is the text",
    stage: async (stage) => {
      await remotes(stage, "git@github.com:me/tool.git");
      await commits(stage, "two");
      await stage.program("gh", STAND_IN);
      await stage.write("open.txt", "x");
    },
    replies: [TEXT],
    answers: [""],
    draft: true,
    seen: [
      "Push two to origin (git@github.com:me/tool.git), and open this pull request into main of me/tool?",
      "https://example.org/pull/7",
      "Uncommitted changes are not part of it (files: 1)",
    ],
    pushed: ["main", "two"],
    check: async (stage) => {
      assertStringIncludes(
        await read(stage, "gh.log"),
        "pr create --repo github.com/me/tool --base main --head two --title=Use two --body-file - --draft",
      );
      assertEquals(await read(stage, "body"), "One was not enough.");
    },
  },
  {
    name: "makes a branch for commits on the default branch, with the proposed name or another",
    stage: async (stage) => {
      await remotes(stage, "https://token@github.com/me/tool");
      await commits(stage);
      await stage.git("branch", "use-two");
      await stage.program("gh", STAND_IN);
    },
    replies: [`Branch: use two!\n${TEXT}`],
    answers: ["", ""],
    seen: ["Name of the new branch:", "(https://github.com/me/tool)", "git branch --force main origin/main"],
    pushed: ["main", "use-two-2"],
    check: async ({ git }) =>
      assertEquals((await git("symbolic-ref", "--short", "HEAD")).trim(), "use-two-2"),
  },
  {
    name: "names the pull request that the branch has, and pushes to it without a model",
    stage: async (stage) => {
      await remotes(stage, "https://github.com/me/tool.git", "https://github.com/them/tool.git");
      await commits(stage, "two");
      await stage.program("gh", STAND_IN);
      const owners = [["other", 1], ["Me", 2]] as const;
      const list = owners.map(([login, at]) => ({
        url: `https://github.com/them/tool/pull/${at}`,
        headRepositoryOwner: { login },
      }));
      await Deno.writeTextFile(`${stage.temp}/list.json`, JSON.stringify(list));
    },
    yes: true,
    seen: ["The branch two has a pull request, which a push updates: https://github.com/them/tool/pull/2"],
    pushed: ["main", "two"],
    check: async (stage, { requests }) => {
      assertEquals(requests, []);
      assert(!(await read(stage, "gh.log")).includes("create"));
    },
  },
  {
    name: "opens a merge request of a fork with glab",
    stage: async (stage) => {
      await remotes(stage, "git@gitlab.com:me/tool.git", "git@gitlab.com:group/sub/tool.git");
      await commits(stage, "two");
      await stage.program("glab", STAND_IN);
    },
    replies: [TEXT],
    yes: true,
    seen: ["https://example.org/pull/7"],
    check: async (stage) =>
      assertStringIncludes(
        await read(stage, "glab.log"),
        "mr create --repo https://gitlab.com/group/sub/tool --source-branch two --target-branch main " +
          "--head me/tool --title=Use two --description=One was not enough. --yes",
      ),
  },
  {
    name: "takes remote.NAME.pushurl for the fork, and the base of --base",
    stage: async (stage) => {
      await remotes(stage, "https://github.com/them/tool.git");
      await stage.git("config", "remote.origin.pushurl", "https://github.com/me/tool.git");
      const url = `[url "${stage.temp}/origin.git"]\n\tinsteadOf = https://github.com/me/tool.git\n`;
      await Deno.writeTextFile(`${stage.temp}/gitconfig`, url, { append: true });
      await stage.git("update-ref", "refs/remotes/origin/next", "HEAD");
      await commits(stage, "two");
      await stage.program("gh", STAND_IN);
    },
    base: "next",
    replies: [TEXT],
    yes: true,
    check: async (stage) =>
      assertStringIncludes(
        await read(stage, "gh.log"),
        "pr create --repo github.com/them/tool --base next --head me:two",
      ),
  },
  {
    name: "prints text and address where gh is not logged in, after the push to an alias of ssh",
    stage: async (stage) => {
      await remotes(stage, "ssh://git@github.com-work:22/me/tool.git");
      await commits(stage, "fix/two");
      await stage.program("gh", STAND_IN);
      await stage.program(
        "ssh",
        '[ "$*" = "-G -- github.com-work" ] && echo "user git\nhostname github.com"',
      );
      await Deno.writeTextFile(`${stage.temp}/list.code`, "4");
    },
    replies: [TEXT],
    yes: true,
    seen: [
      "gh is not logged in: gh auth login --hostname github.com",
      `${TEXT}\n\nhttps://github.com/me/tool/compare/main...fix/two?expand=1`,
    ],
    pushed: ["fix/two", "main"],
  },
  {
    name: "continues after a failure between push and create, without another text",
    stage: async (stage) => {
      await remotes(stage, "https://github.com/me/tool.git");
      await commits(stage);
      await stage.program("gh", STAND_IN);
      await Deno.writeTextFile(`${stage.temp}/fails`, "");
    },
    replies: [`Branch: two\n${TEXT}`],
    yes: true,
    error:
      /Cannot open the pull request: GraphQL: something is wrong.*the branch is pushed and the text is in .*REASONIX_PULL_REQUEST/,
    pushed: ["main", "two"],
    check: async (stage, _played, again) => {
      await Deno.remove(`${stage.temp}/fails`);
      const { shown, requests } = await again({});
      assertEquals([requests, shown.at(-1)], [[], "https://example.org/pull/7"]);
      assertStringIncludes(shown.join("\n"), "The text of the last attempt is used");
      assertEquals((await read(stage, "gh.log")).match(/pr create/g)?.length, 2);
      assertEquals(
        await Deno.stat(`${stage.dir}/.git/REASONIX_PULL_REQUEST`).catch(() => undefined),
        undefined,
      );
    },
  },
  {
    name: "pushes nothing where the user leaves, and commits are named where there are none",
    stage: async (stage) => {
      await remotes(stage, "https://codeberg.org/me/tool");
      await commits(stage, "two");
    },
    replies: [TEXT],
    answers: ["n"],
    seen: ["Nothing was pushed; the text is in"],
    pushed: ["main"],
    check: async (stage, _played, again) => {
      await stage.git("reset", "-q", "--hard", "origin/main");
      const failure = await again({}).catch((error) => error);
      assertStringIncludes(failure.message, "no commit that origin/main lacks");
    },
  },
  {
    name: "edits the text, and never pushes by force",
    stage: async (stage) => {
      await remotes(stage, "https://codeberg.org/me/tool");
      await commits(stage, "two");
      // Another commit is on the branch of the server.
      await stage.git("push", "-q", `${stage.temp}/origin.git`, "HEAD:refs/heads/two");
      await stage.git("commit", "-q", "--amend", "-m", "Use two, again");
      await stage.git("config", "remote.origin.push", "+refs/heads/*:refs/heads/*");
    },
    replies: [TEXT],
    answers: ["e", "Mine\n\nMy words", ""],
    error: /Cannot push two to origin: git push ended with exit code 1.*git pull --rebase origin two/,
    seen: ["rejected", "Mine\n\nMy words"],
  },
  {
    name: "keeps headings and boxes of the template, checks none, and sends the session redacted",
    stage: async (stage) => {
      await remotes(stage, "https://gitea.example.org/me/tool");
      await stage.git("switch", "-qc", "two");
      await stage.write(
        ".github/PULL_REQUEST_TEMPLATE.md",
        "## What\n<!-- say it -->\n\n## Tests\n- [ ] I ran the tests\n- [x] I am kind\n",
      );
      await stage.git("add", "-A");
      await commits(stage);
      await writeSession(stage);
    },
    replies: ["Use two\n\n## What\nTwo.", "Use two\n\n## What\nTwo.\n\n- [x] I ran the tests"],
    yes: true,
    seen: [
      "Use two\n\n## What\nTwo.\n\n- [ ] I ran the tests\n\n## Tests\n- [x] I am kind\n\nhttps://gitea.example.org/me/tool/compare/main...two",
    ],
    check: async (_stage, { requests: [first = "", second = ""] }) => {
      assertStringIncludes(first, '<material name="session">\nPlease use two\n\nUser: Please use two');
      assertStringIncludes(first, "Agent: I use two now");
      assertStringIncludes(first, "Leave every box unchecked");
      assertStringIncludes(second, "headings of the template are missing: ## Tests");
      await Promise.resolve();
    },
  },
  {
    name: "refuses a repository without a remote",
    stage: async ({ git }) => await git("commit", "-q", "--allow-empty", "-m", "First"),
    yes: true,
    error: /the repository has no remote.*git remote add origin URL/,
  },
];

/** A session of the directory with one turn. */
async function writeSession({ dir, home }: Stage): Promise<void> {
  const provider = scriptedProvider([say("I use two now")]);
  await using agent = await createAgent({ provider, cwd: dir, home, session: "file" });
  await agent.run("Please use two");
}

for (const { name, stage: prepare, base, draft = false, yes = false, hint = "", error, ...rest } of CASES) {
  Deno.test(`reasonix pr: openPullRequest ${name}`, async () => {
    await using stage = await makeStage();
    await prepare(stage);
    const config = `${stage.temp}/gitconfig`;
    const run = async (person: Person, played = stage.play(withConfig(person))) => {
      const { signal } = new AbortController();
      await openPullRequest({ cwd: stage.dir, base, draft, yes, hint, signal, host: played.host });
      return played;
    };
    const withConfig = (person: Person) => ({
      ...person,
      environment: { GIT_CONFIG_GLOBAL: config, ...person.environment },
    });
    const last = stage.play(withConfig(rest));
    const failure = await run(rest, last).then(() => undefined, (thrown: unknown) => thrown);
    if (error) {
      assert(failure instanceof ReasonixError, `there is no error but ${failure}`);
      assert(error.test(`${failure.message} ${failure.remedy}`), `${failure.message} ${failure.remedy}`);
    } else if (failure) throw failure;
    for (const text of rest.seen ?? []) assertStringIncludes(last.seen(), text);
    if (rest.pushed) {
      const refs = await stage.git(
        "--git-dir",
        `${stage.temp}/origin.git`,
        "for-each-ref",
        "--format=%(refname:short)",
      );
      assertEquals(refs.trim().split("\n"), rest.pushed);
    }
    await rest.check?.(stage, last, run);
  });
}

Deno.test({
  ...needs(
    "gh",
    HAS_GH,
    "openPullRequest continues with the real gh when answers are lost or the login ends",
  ),
  async fn() {
    await using stage = await makeStage();
    await using github = await FakeGitHub.start("me/tool");
    await remotes(stage, "git@github.com:me/tool.git");
    await commits(stage, "two");
    const run = async (draft: boolean, replies: readonly string[] = []) => {
      const environment = { ...github.env, GIT_CONFIG_GLOBAL: `${stage.temp}/gitconfig` };
      const { host, seen } = stage.play({ replies, environment });
      const options = {
        cwd: stage.dir,
        draft,
        yes: true,
        hint: "",
        host,
        signal: new AbortController().signal,
      };
      return await openPullRequest(options).then(seen, (error) => `${error.message} ${error.remedy}`);
    };
    const body = 'One was not enough: $(touch x) `y` "z"\n\n--draft';
    const lost = (afterwards: boolean) =>
      github.failures.push({
        matches: ({ operation }) => operation === "PullRequestCreate",
        answer: { status: 502, ...afterwards ? { afterwards } : {} },
      });
    lost(false);
    assertStringIncludes(await run(false, [`Use two\n\n${body}`]), "the next run continues there");
    // The service does what was asked, and its answer is lost.
    lost(true);
    assertStringIncludes(await run(false), "Cannot open the pull request");
    assertStringIncludes(
      await run(false),
      "has a pull request, which a push updates: https://github.com/me/tool/pull/1",
    );
    assertEquals(github.pulls.map(({ title, headRefName }) => [title, headRefName]), [["Use two", "two"]]);
    assertEquals(github.pulls[0]?.body, body);
    github.badTokens.add("token-of-the-test");
    assertStringIncludes(
      await run(true, ["Use two"]),
      "gh is not logged in: gh auth login --hostname github.com",
    );
  },
});

Deno.test("addressOf and compareAddress know the forms of hosts", () => {
  const table: readonly (readonly [url: string, address: string | undefined, compare?: string])[] = [
    [
      "https://github.com/me/tool.git",
      "github.com me/tool",
      "https://github.com/me/tool/compare/main...a/%C3%BC?expand=1",
    ],
    ["git@github.com:me/tool", "github.com me/tool"],
    ["ssh://git@ssh.github.com:443/me/tool.git", "github.com me/tool"],
    [
      "https://git.corp/me/tool",
      "git.corp me/tool",
      "https://git.corp/me/tool/compare/main...a/%C3%BC?expand=1",
    ],
    [
      "git@gitlab.com:group/sub/tool.git",
      "gitlab.com group/sub/tool",
      "https://gitlab.com/group/sub/tool/-/merge_requests/new?merge_request%5Bsource_branch%5D=a%2F%C3%BC&merge_request%5Btarget_branch%5D=main",
    ],
    [
      "https://me@bitbucket.org/me/tool.git",
      "bitbucket.org me/tool",
      "https://bitbucket.org/me/tool/pull-requests/new?source=a%2F%C3%BC&dest=me%2Ftool%3A%3Amain",
    ],
    [
      "https://codeberg.org/me/tool/",
      "codeberg.org me/tool",
      "https://codeberg.org/me/tool/compare/main...a/%C3%BC",
    ],
    ["/srv/git/tool.git", undefined],
    ["../tool.git", undefined],
    ["file:///srv/git/tool.git", undefined],
    ["C:\\git\\tool", undefined],
  ];
  for (const [url, address, compare] of table) {
    const found = addressOf(url);
    assertEquals(found && `${found.host} ${found.path}`, address, url);
    if (compare === undefined) continue;
    assertEquals(
      compareAddress(found, found, { base: "main", branch: "a/ü" }, { GH_HOST: "git.corp" }),
      compare,
    );
  }
  const fork = compareAddress({ host: "github.com", path: "me/tool" }, {
    host: "github.com",
    path: "them/tool",
  }, {
    base: "main",
    branch: "x",
  }, {});
  assertEquals(fork, "https://github.com/them/tool/compare/main...me:x?expand=1");
});

Deno.test("fitTemplate unchecks boxes and adds what is missing", () => {
  assertEquals(fitTemplate("## A\n* [X] done", "## A\n* [ ] done\n## B"), "## A\n* [ ] done\n\n## B");
  assertEquals(fitTemplate("text", ""), "text");
});

Deno.test("cleanMessage keeps the message alone", () => {
  const table: readonly (readonly [reply: string, message: string, asked?: string])[] = [
    ["Fix it", "Fix it"],
    ['"Fix it"', "Fix it"],
    ['"Fix" and "it"', '"Fix" and "it"'],
    ["“Fix it”\n\nBody", "Fix it\n\nBody"],
    ["**Fix it**\n\n\n\nBody  \n- a", "Fix it\n\nBody\n- a"],
    ["Sure! Here you go:\n\n```text\nFix it\nBody\n```\n\nLet me know.", "Fix it\n\nBody"],
    ["Commit message: Fix it", "Fix it"],
    ["# Fix it", "Fix it"],
    ["```\nFix it\n\n```sh\nrun\n```\n```", "Fix it\n\n```sh\nrun\n```"],
    ["Fix it\r\n\r\nSigned-off-by: A <a@b>\r\n🤖 Generated with X", "Fix it"],
    ["Fix it\n\nCo-authored-by: A <a@b>", "Fix it\n\nCo-authored-by: A <a@b>", "co-authored-by: A"],
    ["\u001b[31mFix it\u0007", "Fix it"],
    ["Here is the cache", "Here is the cache"],
    ["", ""],
  ];
  for (const [reply, message, asked] of table) assertEquals(cleanMessage(reply, asked), message, reply);
});

Deno.test("styleOf measures subjects", () => {
  assertEquals(styleOf([]).limit, 72);
  assertEquals(styleOf(["x".repeat(90), "short", "short", "short"]).limit, 72);
  assertEquals(styleOf(["x".repeat(90), "y".repeat(80)]).limit, 90);
  assertStringIncludes(styleOf(["fix: a", "Plain"]).style, "Types here: fix. No scopes.");
  assertStringIncludes(styleOf(["fix: a", "Plain", "Other"]).style, "No Conventional Commits");
});
