/** Findings about calls: English as it was found, Chinese again from the codes. */
import type {
  AlwaysOnProtection,
  AskReason,
  Confinement,
  DeedCode,
  HitLocation,
} from "../../../src/core/mod.ts";
import { loadTexts } from "../../../src/i18n/mod.ts";
import { deedText, locationText } from "../../../src/permission/command/deeds.ts";
import { alwaysOnProtections, describeConfinement, noConfinement } from "../../../src/sandbox/mod.ts";
import { assert, assertEquals, assertMatch } from "../../support/assert.ts";

const chinese = await loadTexts("reasons", "zh-CN");
const english = await loadTexts("reasons", "en");

/** Words of each, so that a new code has to be written down here. */
const DEEDS: Readonly<Record<DeedCode, readonly string[]>> = {
  deletes: [],
  deletesFound: [],
  deletesRemote: ["aws", "s3 rb"],
  movesAway: [],
  changesBelow: ["chmod"],
  rsyncRemoves: [],
  rsyncDeletesOn: ["host:dir"],
  rsyncDeletesIn: [],
  overwritesDevice: ["dd", "/dev/sda"],
  rewritesRemote: ["git push -f"],
  cleans: [],
  cleansAll: [],
  changesDisk: ["fdisk"],
  erasesDisk: ["hdparm"],
  overwritesDisk: ["badblocks"],
  erasesPool: ["zpool destroy"],
  stopsComputer: ["reboot"],
  killsOfUser: ["pkill"],
  killsEverything: [],
  killsOwn: [],
  forkBomb: [],
  hidden: ['"rm -r"'],
  unreadable: ["rm"],
  unseen: [],
  configured: ["Bash(kubectl delete:*)"],
  strictProgram: ["mv"],
  strictOverwrite: ["a.txt"],
};

Deno.test("every destructive deed is said in Chinese, with the words that vary", () => {
  const said = new Set<string>();
  for (const [code, words] of Object.entries(DEEDS) as [DeedCode, string[]][]) {
    const deed = [code, ...words] as const;
    const targets = [{ path: "/srv/照片", files: 5000, more: true }] as const;
    const text = chinese.destructive({ deed, location: "outside", targets }, deedText(deed));
    assertMatch(text, /\p{Script=Han}/u);
    for (const word of words) assert(text.includes(word), `${code}: ${text}`);
    said.add(text);
    assertEquals(english.destructive({ deed, targets }, "as found"), "as found");
  }
  assertEquals(said.size, Object.keys(DEEDS).length);
});

Deno.test("what is hit is named with its path and the number of files, everywhere the same kind of place", () => {
  const places: HitLocation[] = [
    "root",
    "home",
    "workspace",
    "holdsHome",
    "holdsWorkspace",
    "outside",
    "unknown",
    "manyNames",
    "everything:outside",
    "everything:home",
  ];
  const target = { path: "/h/ada", files: 1204 };
  const said = places.map((location) =>
    chinese.destructive({ deed: ["deletes"], location, targets: [target] }, "")
  );
  assertEquals(said[1], "会删除 /h/ada（用户主目录，1204 个文件）");
  assertEquals(new Set(said).size, places.length);
  assertEquals(new Set(places.map(locationText)).size, places.length);
  assertEquals(locationText("everything:home"), "everything in the home directory");
});

Deno.test("every reason to ask is said in Chinese, and details of the parser are kept", () => {
  const reasons: AskReason[] = [
    { code: "noRule" },
    { code: "redirects" },
    { code: "unclear", detail: "it runs as another user" },
    { code: "unreadable", detail: "an unclosed quote" },
    { code: "rule", rule: "ask Bash(git push:*)", origin: "reasonix.toml:3:5" },
    { code: "mayBeRuled", rule: "deny Bash(rm:*)", detail: "a word is only known later" },
    { code: "protected", what: "git" },
    { code: "alwaysAsk", detail: "it would forget x" },
    { code: "trust", tool: "mcp__a__b", inPlan: true },
  ];
  for (const why of reasons) {
    const text = chinese.asked(why, "english");
    assertMatch(text, /\p{Script=Han}/u);
    if ("detail" in why) assert(text.includes(why.detail), text);
    if ("rule" in why) assert(text.includes(why.rule), text);
    assertEquals(english.asked(why, "as found"), "as found");
  }
  assertEquals(chinese.asked(undefined, "unknown reason"), "unknown reason");
});

Deno.test("what confines commands is said in Chinese from the same facts as in English", () => {
  const jail: Confinement = {
    backend: "bubblewrap",
    roots: ["", "/srv/数据"],
    privateTmp: true,
    network: "none",
    openNetwork: "seccomp is missing",
    forbidden: 2,
    ruled: 1,
    capped: true,
  };
  const said = chinese.confinement(jail, "");
  for (const part of ["bubblewrap", "/srv/数据", "本项目", "seccomp is missing", "2 个路径", "1 个路径"]) {
    assert(said.includes(part), said);
  }
  for (const full of [false, true]) {
    const none = noConfinement('[sandbox] bash = "off"', full);
    assertMatch(describeConfinement(none), /^Commands (?:are not confined|run unconfined)/);
    const text = chinese.confinement(none, "");
    assert(text.includes('[sandbox] bash = "off"') && text.includes("拒绝规则"), text);
    assertEquals(text.includes("工作区以外"), full);
  }
  assertEquals(english.confinement(jail, "as found"), "as found");
});

Deno.test("every layer that stands without a jail has a name and a meaning in Chinese", () => {
  const said = alwaysOnProtections(false).map(({ id, text }) => chinese.standing(id, text));
  assertEquals(new Set<string>(said).size, 7);
  for (const text of said) assertMatch(text, /^\P{ASCII}.*：.*\p{Script=Han}/u);
  const ids: AlwaysOnProtection[] = alwaysOnProtections(true).map(({ id }) => id);
  assert(!ids.includes("workspace"));
});

Deno.test("a refusal names its rule; one from elsewhere stays as it was reported", () => {
  assertEquals(
    chinese.refused({ source: "rule", rule: "deny Bash(rm:*)" }, "english"),
    "权限规则 deny Bash(rm:*) 不允许",
  );
  assertEquals(chinese.refused({ source: "user" }, "english"), "你拒绝了");
  assertEquals(
    chinese.refused({ source: "confinement" }, "outside of the workspace"),
    "outside of the workspace",
  );
});
