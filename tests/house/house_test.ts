import ts from "typescript";
import { assert, assertEquals } from "../support/assert.ts";
import { judge } from "./exemptions.ts";
import { type Offence, productFiles, type Project, thisProject, visitAll } from "./project.ts";
import {
  importSideEffects,
  lostDisposals,
  printsOrExits,
  processState,
  vendorSniffing,
} from "./rules_effects.ts";
import { deadSettings } from "./rules_settings.ts";
import { deadExports } from "./rules_exports.ts";
import {
  denoByName,
  foreignPackages,
  lonelyFiles,
  looseConfig,
  misplacedProse,
  privatePaths,
  sharedNames,
} from "./rules_files.ts";
import {
  cycles,
  deepImports,
  extensionShortcuts,
  lostExtensionPoints,
  strayImports,
  unknownPackages,
  unlistedExtensions,
  unlistedPlugins,
  upwardImports,
} from "./rules_layers.ts";
import { strayConnections, untestedSenders } from "./rules_network.ts";
import {
  badComments,
  badErrorMessages,
  badFileNames,
  badTestNames,
  commentShare,
  talkativeFiles,
  wideComments,
} from "./rules_text.ts";
import { silencedCheckers, unsafeTypes } from "./rules_types.ts";

/** Every rule by the name exemptions use. */
const RULES: Readonly<Record<string, (project: Project) => Offence[]>> = {
  "known packages": unknownPackages,
  "layers": upwardImports,
  "imports through mod.ts": deepImports,
  "program stands alone": strayImports,
  "no cycles": cycles,
  "list files": unlistedExtensions,
  "listed plugins": unlistedPlugins,
  "extension directories exist": lostExtensionPoints,
  "extensions through their list": extensionShortcuts,
  "no dead exports": deadExports,
  "one fetch for all": strayConnections,
  "redirects of all requests are tested": untestedSenders,
  "settings without effect say so": deadSettings,
  "safe types": unsafeTypes,
  "checkers stay on": silencedCheckers,
  "no console, no exit": printsOrExits,
  "imports do nothing": importSideEffects,
  "disposals stay in the bundle": lostDisposals,
  "state belongs to sessions": processState,
  "vendors are data": vendorSniffing,
  "plain comments": badComments,
  "comments within the width": wideComments,
  "comments per file": talkativeFiles,
  "file names": badFileNames,
  "names of files": sharedNames,
  "small files": lonelyFiles,
  "test names": badTestNames,
  "error messages": badErrorMessages,
  "strict configuration": looseConfig,
  "no private paths": privatePaths,
  "plain packages": foreignPackages,
  "prose in Markdown": misplacedProse,
  "deno by its path": denoByName,
};

for (const [rule, find] of Object.entries(RULES)) {
  Deno.test(`the project keeps the rule "${rule}"`, () => {
    const open = judge(rule, find(thisProject()));
    assert(open.length === 0, `\n${open.join("\n")}`);
  });
}

Deno.test("comments make up 5 to 15 percent of the program", () => {
  const share = commentShare(thisProject());
  assert(share >= 5 && share <= 15, `${share.toFixed(1)} % of the lines are comment`);
});

const MAPS = { "docs/ARCHITECTURE.md": /^\|.*$/gm, "AGENTS.md": /^```\n.*?^```$/gms };

for (const [path, map] of Object.entries(MAPS)) {
  Deno.test(`the map in ${path} names each package of src and no other`, () => {
    const root = new URL("../../", import.meta.url);
    const [text = ""] = [Deno.readTextFileSync(new URL(path, root)).match(map)?.join("\n")];
    const named = [...text.matchAll(/\bsrc\/(\w+)/g)].map(([, name = ""]) => name);
    const packages = [...Deno.readDirSync(new URL("src", root))].map(({ name }) => name);
    assertEquals([...new Set(named)].sort(), packages.sort());
  });
}

Deno.test("files that name the runtime's API become fewer", () => {
  const golden = new URL("../golden/runtime.json", import.meta.url);
  const named = productFiles(thisProject()).filter(({ path, tree }) => {
    if (!/^(src|cli)\//.test(path)) return false;
    let names = false;
    visitAll(tree, (node) => names ||= ts.isIdentifier(node) && node.text === "Deno");
    return names;
  }).length;
  if (Deno.env.get("UPDATE_GOLDEN") === "1") {
    Deno.writeTextFileSync(golden, `${JSON.stringify({ filesThatNameDeno: named }, null, 2)}\n`);
  }
  const { filesThatNameDeno: most } = JSON.parse(Deno.readTextFileSync(golden));
  const remedy = "docs/adr/0012 has the reason; use a helper of src/util or src/path, or a node: module";
  assert(named <= most, `${named} files of src and cli name Deno, at most ${most}; ${remedy}`);
  assert(named === most, `${named} files of src and cli name Deno; record that with UPDATE_GOLDEN=1`);
});

Deno.test("judge accepts an offense within its limit and reports an unused exemption", () => {
  const table = [
    { rule: "small files", path: "a.ts", limit: 320, reason: "table" },
    { rule: "small files", path: "b.ts", reason: "gone" },
  ];
  const offences = [{ path: "a.ts", value: 310, what: "310 lines" }, {
    path: "c.ts",
    line: 4,
    what: "400 lines",
  }];
  assertEquals(judge("small files", offences, table), [
    "c.ts:4: 400 lines",
    "tests/house/exemptions.ts: the exemption of b.ts is no longer needed",
  ]);
  assertEquals(judge("small files", [{ path: "a.ts", value: 330, what: "330 lines" }], table.slice(0, 1)), [
    "a.ts: 330 lines",
    "tests/house/exemptions.ts: the exemption of a.ts is no longer needed",
  ]);
});
