import { decided, PUBLIC_KEY } from "../../../cli/identity.ts";
import { entryOf, parsePublicKey, sha256Of, verifySums } from "../../../cli/release/verify.ts";
import { checkRelease, decidedKey, signingKey, signSums, writeSums } from "../../../scripts/release/sign.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "../../support/assert.ts";
import { type TestKey, testKey } from "../../support/minisign.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import { needs } from "../../support/tools.ts";

const ID = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]);
const KEY = testKey(ID);
const DIGEST = sha256Of(new Uint8Array());
const TEXT = `${DIGEST}  install.sh\n${DIGEST}  reasonix_0.2.0~rc.1+b_amd64.deb\n`;
const SUMS = bytes(TEXT);
const COMMENT = "reasonix 0.2.0";
const GOOD = KEY.sign(SUMS, COMMENT);

Deno.test("verifySums returns the version of prehashed and legacy signatures", () => {
  assertEquals(verifySums(SUMS, GOOD, KEY.public, "0.2.0"), { version: "0.2.0" });
  assertEquals(verifySums(SUMS, GOOD.trimEnd(), KEY.public), { version: "0.2.0" });
  const legacy = KEY.sign(SUMS, "reasonix 1.0.0-rc.1", "legacy");
  assertEquals(verifySums(SUMS, legacy, KEY.public), { version: "1.0.0-rc.1" });
  assertEquals(parsePublicKey(KEY.public).id, "0807060504030201");
  assertEquals(entryOf(SUMS, "install.sh"), DIGEST);
  assertThrows(() => entryOf(SUMS, "install"), ReasonixError, "Cannot find install in SHA256SUMS");
});

interface Attack {
  readonly name: string;
  readonly sums?: string;
  readonly signature?: string;
  readonly key?: string;
  readonly error: string;
}

/** The lines of the good signature with one of them replaced. */
function withLine(at: number, line: string): string {
  return GOOD.split("\n").map((old, index) => index === at ? line : old).join("\n");
}

/** The good signature with another algorithm, key id, or byte of the signature. */
function withBytes(change: (signed: Uint8Array) => void): string {
  const signed = Uint8Array.fromBase64(GOOD.split("\n")[1] ?? "");
  change(signed);
  return withLine(1, signed.toBase64());
}

/** Lines that the key of the releases has signed. */
function signedLines(sums: string): Pick<Attack, "sums" | "signature"> {
  return { sums, signature: KEY.sign(bytes(sums), COMMENT) };
}

const FORM = "its signature is incomplete, or not one of minisign";
const CHANGED = "it was changed after it was signed";
const COMMENT_CHANGED = "the trusted comment of its signature was changed";
const FIRST_LINE = "line 1 is not a SHA-256, two spaces and the name of a file";
const [EARLIER, LATER] = [KEY.sign(SUMS, "reasonix 0.1.9"), KEY.sign(SUMS, "reasonix 0.3.0")];

const ATTACKS: readonly Attack[] = [
  { name: "another key", signature: testKey().sign(SUMS, COMMENT), error: "it is signed with the key" },
  { name: "another key of the same id", signature: testKey(ID).sign(SUMS, COMMENT), error: CHANGED },
  {
    name: "changed key id",
    signature: withBytes((all) => all[2] = 9),
    error: "it is signed with the key 0807",
  },
  { name: "changed file", sums: TEXT.replace("install.sh", "install.sk"), error: CHANGED },
  { name: "a line more", sums: `${TEXT}${DIGEST}  z\n`, error: CHANGED },
  { name: "changed signature", signature: withBytes((all) => all[40] = (all[40] ?? 0) ^ 1), error: CHANGED },
  { name: "S of Ed25519 plus the order of the group", signature: withBytes(addOrder), error: CHANGED },
  { name: "prehashed as legacy", signature: withBytes((all) => all[1] = 0x64), error: CHANGED },
  {
    name: "legacy as prehashed",
    signature: KEY.sign(SUMS, COMMENT, "legacy").replace("\nRW", "\nRU"),
    error: CHANGED,
  },
  { name: "the hash in place of the file", ...hashSigned(), error: CHANGED },
  { name: "unknown algorithm", signature: withBytes((all) => all[1] = 0x78), error: FORM },
  {
    name: "changed comment",
    signature: withLine(2, "trusted comment: reasonix 0.2.1"),
    error: COMMENT_CHANGED,
  },
  {
    name: "comment of another signature",
    signature: mixed(GOOD, KEY.sign(bytes(`${TEXT}\n`), COMMENT)),
    error: COMMENT_CHANGED,
  },
  {
    name: "spaces after the comment",
    signature: withLine(2, `trusted comment: ${COMMENT} `),
    error: COMMENT_CHANGED,
  },
  {
    name: "an earlier version",
    signature: EARLIER,
    error: "it is signed for version 0.1.9, and version 0.2.0",
  },
  { name: "a later version", signature: LATER, error: "it is signed for version 0.3.0, and version 0.2.0" },
  {
    name: "another program's file",
    signature: KEY.sign(SUMS, "file:SHA256SUMS"),
    error: 'the trusted comment "file:SHA256SUMS" names no version',
  },
  {
    name: "two versions",
    signature: KEY.sign(SUMS, "reasonix 0.2.0 reasonix 0.1.0"),
    error: "names no version",
  },
  { name: "empty signature", signature: "", error: FORM },
  ...[1, 2, 3].map((count) => ({
    name: `signature of ${count} lines`,
    signature: GOOD.split("\n").slice(0, count).join("\n") + "\n",
    error: FORM,
  })),
  { name: "half of the last line", signature: GOOD.slice(0, -20), error: FORM },
  { name: "a line more in the signature", signature: `${GOOD}more\n`, error: FORM },
  { name: "a page of HTML", signature: "<!doctype html>\n<title>404</title>\n", error: FORM },
  { name: "spaces in base64", signature: withLine(3, ` ${GOOD.split("\n")[3]}`), error: FORM },
  { name: "truncated file", sums: TEXT.slice(0, -10), error: CHANGED },
  { name: "empty file", sums: "", error: CHANGED },
  { name: "signed empty file", ...signedLines(""), error: "it names no file" },
  { name: "signed file of one empty line", ...signedLines("\n"), error: FIRST_LINE },
  { name: "signed file without its last line end", ...signedLines(TEXT.trimEnd()), error: "does not end" },
  { name: "the same line twice", ...signedLines(TEXT + TEXT), error: "line 3 names install.sh again" },
  {
    name: "two digests of a file",
    ...signedLines(`${TEXT}${"0".repeat(64)}  install.sh\n`),
    error: "line 3 names install.sh again",
  },
  {
    name: "a twin by case",
    ...signedLines(`${TEXT}${DIGEST}  Install.SH\n`),
    error: "names Install.SH again",
  },
  ...[
    "../install.sh",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "..",
    ".bashrc",
    "-rf",
    "C:a",
    "a:b",
    "a.",
    "a ",
    " a",
    "a\0b",
    "a\rb",
    "~",
    "é",
    "",
  ].map((file) => ({
    name: `the file name ${JSON.stringify(file)}`,
    ...signedLines(`${DIGEST}  ${file}\n`),
    error: FIRST_LINE,
  })),
  { name: "a short digest", ...signedLines(`${DIGEST.slice(1)}  a\n`), error: FIRST_LINE },
  { name: "a digest in capitals", ...signedLines(`${DIGEST.toUpperCase()}  a\n`), error: FIRST_LINE },
  { name: "the mark of binary files", ...signedLines(`${DIGEST} *a\n`), error: FIRST_LINE },
  { name: "an unset key", key: "@unset-public-key", error: 'the public key "@unset-public-key"' },
  { name: "a truncated key", key: KEY.public.slice(0, -4), error: "Cannot read the public key" },
  { name: "a key with a line end", key: `${KEY.public}\n`, error: "Cannot read the public key" },
  { name: "the secret of a key", key: `RWQA${"A".repeat(208)}`, error: "Cannot read the public key" },
];

for (const { name, sums = TEXT, signature = GOOD, key = KEY.public, error } of ATTACKS) {
  Deno.test(`verifySums refuses ${name}`, () => {
    const thrown = assertThrows(() => verifySums(bytes(sums), signature, key, "0.2.0"), ReasonixError, error);
    assert(thrown.remedy !== undefined);
  });
}

Deno.test("verifySums accepts no other byte in file or signature, and no part of them", () => {
  const comment = GOOD.indexOf("\n");
  for (let at = 0; at < GOOD.length - 1; at++) {
    const char = GOOD[at] === "A" ? "B" : "A";
    const changed = GOOD.slice(0, at) + char + GOOD.slice(at + 1);
    const isNote = at >= "untrusted comment: ".length && at < comment;
    if (isNote) assertEquals(verifySums(SUMS, changed, KEY.public), { version: "0.2.0" });
    else assertThrows(() => verifySums(SUMS, changed, KEY.public), ReasonixError, "Cannot trust");
    assertThrows(() => verifySums(SUMS, GOOD.slice(0, at), KEY.public), ReasonixError, "Cannot trust");
  }
  for (let at = 0; at < SUMS.length; at++) {
    const changed = SUMS.with(at, (SUMS[at] ?? 0) ^ 1);
    assertThrows(() => verifySums(changed, GOOD, KEY.public), ReasonixError, "Cannot trust");
    assertThrows(() => verifySums(SUMS.subarray(0, at), GOOD, KEY.public), ReasonixError, "Cannot trust");
  }
});

/** S + L is the other solution of Ed25519's equation: RFC 8032, 5.1.7 refuses it. */
function addOrder(all: Uint8Array): void {
  let carry = 0x1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3edn;
  for (let at = 42; at < 74; at++) {
    const sum = BigInt(all[at] ?? 0) + (carry & 0xffn);
    all[at] = Number(sum & 0xffn);
    carry = (carry >> 8n) + (sum >> 8n);
  }
}

/** A legacy signature over what is not the file but its hash. */
function hashSigned(): Pick<Attack, "signature"> {
  const hash = Uint8Array.fromHex(sha256Of(SUMS));
  return { signature: KEY.sign(hash, COMMENT, "legacy") };
}

/** The first signature with comment and global signature of the second. */
function mixed(first: string, second: string): string {
  return [...first.split("\n").slice(0, 2), ...second.split("\n").slice(2)].join("\n");
}

async function minisign(...args: readonly string[]): Promise<void> {
  const { code, stderr } = await new Deno.Command("minisign", { args: [...args], stdin: "null" }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
}

const hasMinisign = await new Deno.Command("minisign", { args: ["-v"] }).output().then(
  () => true,
  () => false,
);

Deno.test({
  ...needs(
    "minisign",
    hasMinisign,
    "minisign accepts the signatures of the tests, and verifySums those of minisign",
  ),
  async fn() {
    await using directory = await makeTempDir();
    const at = (name: string) => `${directory.path}/${name}`;
    await Deno.writeFile(at("SHA256SUMS"), SUMS);
    for (const form of ["legacy", "prehashed"] as const) {
      await Deno.writeTextFile(at("SHA256SUMS.minisig"), KEY.sign(SUMS, COMMENT, form));
      await minisign("-V", "-q", "-P", KEY.public, "-m", at("SHA256SUMS"));
    }
    await minisign("-G", "-W", "-p", at("pub"), "-s", at("key"));
    const [, key = ""] = (await Deno.readTextFile(at("pub"))).split("\n");
    for (const form of ["-l", "-H"]) {
      await minisign("-S", form, "-s", at("key"), "-m", at("SHA256SUMS"), "-t", COMMENT);
      const signature = await Deno.readTextFile(at("SHA256SUMS.minisig"));
      assertEquals(verifySums(SUMS, signature, key), { version: "0.2.0" });
    }
  },
});

Deno.test({
  ...needs(
    "minisign",
    hasMinisign,
    "signSums signs the sums of a directory, and checkRelease finds each change",
  ),
  async fn() {
    await using keys = await makeTempDir();
    await minisign("-G", "-W", "-p", `${keys.path}/pub`, "-s", `${keys.path}/key`);
    const [, publicKey = ""] = (await Deno.readTextFile(`${keys.path}/pub`)).split("\n");
    const environment = { MINISIGN_SECRET_KEY_FILE: `${keys.path}/key` };
    const key = await signingKey(environment, publicKey);

    await using release = await makeTempDir();
    const at = (name: string) => `${release.path}/${name}`;
    await assertRejects(() => writeSums(release.path), Error, "it is empty");
    for (const name of ["reasonix.js", "install.sh", "a.deb"]) await Deno.writeTextFile(at(name), name);
    await writeSums(release.path);
    const sums = await Deno.readTextFile(at("SHA256SUMS"));
    assertEquals(sums.match(/\S+$/gm), ["a.deb", "install.sh", "reasonix.js"]);

    const stranger: TestKey = testKey();
    await assertRejects(
      () => signSums(release.path, "0.2.0", { ...key, public: stranger.public }),
      ReasonixError,
    );
    const left = [...Deno.readDirSync(release.path)].map(({ name }) => name);
    assert(!left.includes("SHA256SUMS.minisig"), "a signature that cannot be verified stays");
    await assertRejects(
      () => signSums(release.path, "0.2.0", { ...key, secret: "no key" }),
      Error,
      "Cannot sign",
    );
    await assertRejects(() => signSums(release.path, "v2", key), ReasonixError, "names no version");

    await signSums(release.path, "0.2.0", key);
    await checkRelease(release.path, "0.2.0", publicKey);
    await assertRejects(
      () => checkRelease(release.path, "0.2.1", publicKey),
      ReasonixError,
      "0.2.1 is wanted",
    );
    await Deno.writeTextFile(at("more"), "");
    await assertRejects(() => checkRelease(release.path, "0.2.0", publicKey), ReasonixError, "find more in");
    await Deno.remove(at("more"));
    await Deno.writeTextFile(at("a.deb"), "other");
    await assertRejects(() => checkRelease(release.path, "0.2.0", publicKey), Error, "a.deb: it was changed");
    await Deno.remove(at("a.deb"));
    await assertRejects(() => checkRelease(release.path, "0.2.0", publicKey), Error, "a.deb is missing");
    await Deno.mkdir(at("directory"));
    await assertRejects(() => writeSums(release.path), Error, "it is not a regular file");
  },
});

Deno.test("a release without keys or with an undecided name stops", async () => {
  await assertRejects(() => signingKey({}, KEY.public), Error, "set MINISIGN_SECRET_KEY or");
  const [open, set] = ["@unset-public-key", "owner/name"];
  assertThrows(
    () => decidedKey({ PUBLIC_KEY: open, REPOSITORY: set }),
    Error,
    "set PUBLIC_KEY in cli/identity.ts",
  );
  assertThrows(
    () => decidedKey({ PUBLIC_KEY: open, REPOSITORY: open }),
    Error,
    "set PUBLIC_KEY, REPOSITORY in",
  );
  assertEquals(decidedKey({ PUBLIC_KEY: KEY.public, REPOSITORY: set }), KEY.public);
  const ours = decided(PUBLIC_KEY);
  if (ours !== undefined) parsePublicKey(ours);
});

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
