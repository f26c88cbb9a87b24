import { assertEquals } from "../../../support/assert.ts";
import { decodeText, encodeText } from "../../../../src/tool/text/encoding.ts";

function bytesOf(
  text: string,
  encoding: Parameters<typeof encodeText>[1],
  bom = false,
): Uint8Array<ArrayBuffer> {
  const bytes = encodeText(text, encoding, bom);
  if (typeof bytes === "string") throw new Error(`cannot encode ${bytes}`);
  return bytes;
}

const CHINESE = "你好，世界。\n这是一个测试文件，用来检查编码。\nlet x = 1; // 变量\n";
const GERMAN = "Grüße aus Köln!\nÜbergröße, Straße, naïve café, “smart” – 5 €\n";

Deno.test("decodeText detects each encoding and encodeText gives the same bytes back", () => {
  const cases: [Uint8Array<ArrayBuffer>, string, string, boolean][] = [
    [new TextEncoder().encode(CHINESE), CHINESE, "utf-8", false],
    [bytesOf(CHINESE, "utf-8", true), CHINESE, "utf-8", true],
    [bytesOf(CHINESE, "utf-16le", true), CHINESE, "utf-16le", true],
    [bytesOf(CHINESE, "utf-16be", true), CHINESE, "utf-16be", true],
    [bytesOf(CHINESE, "utf-16le"), CHINESE, "utf-16le", false],
    [bytesOf(GERMAN, "utf-16be"), GERMAN, "utf-16be", false],
    [bytesOf(CHINESE, "gb18030"), CHINESE, "gb18030", false],
    [bytesOf("中文", "gb18030"), "中文", "gb18030", false],
    [
      bytesOf("繁體中文測試檔案，編碼檢查。\n", "gb18030"),
      "繁體中文測試檔案，編碼檢查。\n",
      "gb18030",
      false,
    ],
    [bytesOf(GERMAN, "windows-1252"), GERMAN, "windows-1252", false],
    [bytesOf("créée\n", "windows-1252"), "créée\n", "windows-1252", false],
    [bytesOf("ÄÖÜ ÉÈ\n", "windows-1252"), "ÄÖÜ ÉÈ\n", "windows-1252", false],
  ];
  for (const [bytes, text, encoding, bom] of cases) {
    const decoded = decodeText(bytes);
    assertEquals([decoded?.text, decoded?.encoding, decoded?.bom], [text, encoding, bom]);
    assertEquals(encodeText(text, decoded?.encoding ?? "utf-8", bom), bytes);
  }
});

Deno.test("decodeText preserves invalid UTF-8 bytes, and encodeText restores them", () => {
  const bytes = new Uint8Array([...new TextEncoder().encode(`${CHINESE}😀`), 0xff, 0x41, 0xe4, 0xbd]);
  const decoded = decodeText(bytes);
  assertEquals(decoded?.encoding, "utf-8-escaped");
  assertEquals(decoded?.text.startsWith(`${CHINESE}😀`), true);
  assertEquals(encodeText(decoded?.text ?? "", "utf-8-escaped", false), bytes);
});

Deno.test("decodeText refuses binary content", () => {
  const cases = [[0, 1, 2, 3], [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0], [
    1,
    2,
    3,
    4,
    5,
    6,
    14,
    15,
    16,
    17,
  ]];
  for (const bytes of cases) assertEquals(decodeText(new Uint8Array(bytes)), undefined);
  const random = new Uint8Array(4096);
  crypto.getRandomValues(random);
  random[100] = 0;
  random[101] = 0;
  assertEquals(decodeText(random), undefined);
});

Deno.test("decodeText treats an empty file as UTF-8", () => {
  assertEquals(decodeText(new Uint8Array(0)), { text: "", encoding: "utf-8", bom: false });
});

Deno.test("encodeText returns the first character that the encoding lacks", () => {
  assertEquals(encodeText("a中", "windows-1252", false), "中");
  assertEquals(encodeText("a\ud800", "gb18030", false), "\ud800");
});

Deno.test("encodeText covers all of Unicode in GB18030", () => {
  const points: number[] = [];
  for (let point = 0x80; point < 0x11_0000; point += point < 0x10000 ? 1 : 997) {
    if (point < 0xd800 || point > 0xdfff) points.push(point);
  }
  const decoder = new TextDecoder("gb18030", { ignoreBOM: true });
  const wrong = points.filter((point) => {
    const bytes = encodeText(String.fromCodePoint(point), "gb18030", false);
    return typeof bytes === "string" || decoder.decode(bytes) !== String.fromCodePoint(point);
  });
  // Private use characters that newer versions of the standard gave away.
  assertEquals(wrong.filter((point) => point < 0xe000 || point > 0xf8ff), []);
});
