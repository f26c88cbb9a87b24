import { createRedactor, isOrdinaryText, looksLikeSecret } from "../../../src/util/redact.ts";
import { assert, assertEquals } from "../../support/assert.ts";

/** Tokens are joined from parts, so that no scanner reports this file as a leak. */
const body = (length: number) => "aB3dE5gH7jK9".repeat(10).slice(0, length);

Deno.test("createRedactor removes known values in every spelling", () => {
  const redact = createRedactor(["p@ss/word+1", "short", "contains p@ss/word+1 itself"]);
  assertEquals(redact("key=p@ss/word+1."), "key=[redacted].");
  assertEquals(redact(`q=${encodeURIComponent("p@ss/word+1")}`), "q=[redacted]");
  assertEquals(
    redact(`data: ${btoa("p@ss/word+1")}`),
    "data: [redacted]" + "=".repeat(btoa("p@ss/word+1").split("=").length - 1),
  );
  assertEquals(redact("x contains p@ss/word+1 itself y"), "x [redacted] y");
  assertEquals(redact("short stays"), "short stays");
  assertEquals(createRedactor(['quo"ted\\value'])(JSON.stringify('quo"ted\\value')), '"[redacted]"');
});

Deno.test("createRedactor removes known values at any offset of encoded data", () => {
  const key = "Zx9-very+sécret/key-0123456789";
  const redact = createRedactor([key, "another-key-of-the-user"]);
  const bytes = (text: string) => new TextEncoder().encode(text);
  const gone = (text: string, encoded: string) => {
    const left = redact(text);
    assert(left.includes("[redacted]"), text);
    // What is left is less than a character of the value on either side.
    for (let at = 0; at + 12 <= encoded.length; at++) {
      assert(!left.includes(encoded.slice(at, at + 12)), left);
    }
  };
  for (const offset of [0, 1, 2, 3, 4, 5]) {
    for (const tail of ["", "y", "yy", "yyy"]) {
      const whole = bytes("x".repeat(offset) + key + tail);
      const inner = bytes(key).toBase64().slice(0, -4);
      gone(`data ${whole.toBase64()} end`, inner);
      gone(`data ${whole.toBase64({ alphabet: "base64url", omitPadding: true })} end`, inner);
    }
  }
  const hex = bytes(key).toHex();
  gone(`6161${hex}0a`, hex);
  gone(`6161${hex.toUpperCase()}0A`, hex.toUpperCase());
  const url = encodeURIComponent(key);
  assertEquals(redact(`?q=${url}&r`), "?q=[redacted]&r");
  assertEquals(redact(`?q=${url.replace(/%../g, (code) => code.toLowerCase())}&r`), "?q=[redacted]&r");
  for (const width of [64, 76]) {
    for (let before = 0; before < 120; before += 7) {
      const encoded = bytes("a".repeat(before) + key + "b".repeat(60)).toBase64();
      for (const end of ["\n", "\r\n"]) {
        const text = encoded.replace(new RegExp(`.{${width}}`, "g"), (line) => line + end);
        const left = redact(text).replace(/[\r\n]/g, "");
        assert(left.includes("[redacted]") && !left.includes(bytes(key).toBase64().slice(4, 24)), text);
      }
    }
  }
});

Deno.test("createRedactor keeps encoded data without a secret unchanged", () => {
  const redact = createRedactor(["Zx9-very+secret/key-0123456789", "p@ssword"]);
  const data = new Uint8Array(300_000).map((_, at) => (at * 7919) >> 3);
  const lines = data.toBase64().replace(/.{76}/g, "$&\n");
  const texts = [
    data.toBase64(),
    lines,
    data.toHex(),
    "a/b-c_d+e".repeat(3000),
    "https://example.com/".repeat(99),
  ];
  for (const text of texts) assert(redact(text) === text);
});

Deno.test("createRedactor removes common token formats", () => {
  const redact = createRedactor([]);
  const tokens = [
    `sk-${body(40)}`,
    `sk-proj-${body(20)}_${body(30)}`,
    `sk-ant-api03-${body(40)}-xy`,
    `sk_live_${body(24)}`,
    `rk_test_${body(24)}`,
    `ghp_${body(36)}`,
    `gho_${body(36)}`,
    `github_pat_${body(60)}`,
    `glpat-${body(20)}`,
    `npm_${body(36)}`,
    `pypi-${body(60)}`,
    `hf_${body(34)}`,
    `xoxb-${"1234567890-"}${body(20)}`,
    `AIza${body(35)}`,
    "AKIA" + "ABCDEFGHIJKLMNO1",
    `eyJ${body(20)}.eyJ${body(30)}.${body(40)}`,
  ];
  for (const token of tokens) {
    assertEquals(redact(`a "${token}" b`), 'a "[redacted]" b', token);
    assertEquals(redact(`${token}\n`), "[redacted]\n", token);
  }
});

Deno.test("createRedactor removes private keys, whole or truncated", () => {
  const redact = createRedactor([]);
  const [begin, end] = ["-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"];
  assertEquals(redact(`x\n${begin}\nMIIE\nabc=\n${end}\ny`), "x\n[redacted]\ny");
  assertEquals(redact(`${begin}\nMIIE`), "[redacted]");
  assertEquals(redact("-----BEGIN PUBLIC KEY-----\nMIIE"), "-----BEGIN PUBLIC KEY-----\nMIIE");
});

Deno.test("createRedactor keeps the names of headers and removes their values", () => {
  const redact = createRedactor([]);
  assertEquals(redact("Authorization: Bearer abc.def-123"), "Authorization: Bearer [redacted]");
  assertEquals(redact("authorization: Basic dXNlcjpwYXNz"), "authorization: Basic [redacted]");
  assertEquals(redact('{"Authorization":"token 0123456789"}'), '{"Authorization":"token [redacted]"}');
  assertEquals(redact("Proxy-Authorization = Digest abcdef123"), "Proxy-Authorization = Digest [redacted]");
  assertEquals(redact("-H 'X-Api-Key: 0123456789abc'"), "-H 'X-Api-Key: [redacted]'");
  const known = createRedactor(["my-known-secret"]);
  assertEquals(known("Authorization: Bearer my-known-secret"), "Authorization: Bearer [redacted]");
});

Deno.test("createRedactor keeps ordinary text unchanged", () => {
  const redact = createRedactor(["0123456789abcdef-key"]);
  const texts = [
    "task-runner-with-a-very-long-name-that-has-no-digits",
    "sk-learn and sk_buff and risk-assessment-procedures-of-the-house",
    "commit 4f0c1d2e3b4a5968778695a4b3c2d1e0f9a8b7c6",
    "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "550e8400-e29b-41d4-a716-446655440000",
    "export const authorization = true;",
    "the authorization of users is checked",
    "authorization: none",
    "const eyJ = 1; eyJhb",
    "AKIA is a prefix",
    "npm_config_registry",
    "ghp_short",
    "disk-usage-2024-01-01-report-of-all-the-nodes",
    "https://example.com/sk-SK/dokumenty/prirucka-pre-pouzivatelov",
    "xoxo-",
    "import hf_hub_download",
    "pk_table_column_name_of_the_relation_in_database",
    "mask-rcnn-resnet50-fpn",
    "PRIVATE KEY handling",
    "desk-lamp_01",
    "sk-SK locale",
  ];
  for (const text of texts) assertEquals(redact(text), text);
});

Deno.test("createRedactor returns the same string quickly when nothing is secret", () => {
  const redact = createRedactor(["0123456789abcdef-key", "another-secret-value"]);
  const big = "The quick brown fox jumps over the lazy dog 12345; task-list sk- eyJ authorization\n".repeat(
    20_000,
  );
  assertEquals(redact(big) === big, true);
  const tricky = `${"sk-".repeat(50_000)} ${"a-".repeat(50_000)} ${"sk-a_".repeat(20_000)} ${
    "eyJ".repeat(50_000)
  }`;
  const start = performance.now();
  redact(tricky);
  // Generous: what is looked for is quadratic behaviour, which would take minutes.
  assert(performance.now() - start < 5_000);
});

Deno.test("a word or a locale is never redacted, and a random key is", () => {
  const ordinary = [
    "production",
    "Staging",
    "PRODUCTION",
    "placeholder",
    "en_US.UTF-8",
    "de_DE@euro",
    "C.UTF-8",
  ];
  const redact = createRedactor([...ordinary, "correct-horse", "hunter2hunter2"]);
  for (const text of ordinary) assertEquals([redact(text), isOrdinaryText(text)], [text, true]);
  assertEquals(redact("correct-horse and hunter2hunter2"), "[redacted] and [redacted]");
});

Deno.test("looksLikeSecret recognizes random text and no ordinary settings", () => {
  for (const secret of [`ghp_${body(36)}`, body(20), "0f3a9c1b7e5d2a8f4c6b", "x-q7Xk29fLmZ81pRt4Vb"]) {
    assert(looksLikeSecret(secret), secret);
  }
  const settings = [
    "production",
    "/srv/projects/shop-2024/src",
    "https://api.example.com/v2/projects/12345678901234567890",
    "eu-central-1",
    "postgres:16.2-alpine",
    "2024-11-23T10:00:00Z",
    "20241123T100000Z",
    "MyCompany-Project-2024-EU1",
    "myProject2024Backend",
    "--max-old-space-size=4096",
  ];
  assertEquals(settings.filter(looksLikeSecret), []);
});
