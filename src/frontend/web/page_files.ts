import { gunzipSync } from "node:zlib";
import { errorMessage, message, ReasonixError } from "../../core/mod.ts";

/** The page as `scripts/page.ts` builds it. */
export interface BuiltPage {
  /** Changes with every file of the page. */
  readonly build: string;
  /** Compressed with gzip, in base64: `index.html`, and the files below `/assets/` by their names. */
  readonly files: Readonly<Record<string, string>>;
}

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  json: "application/json",
};

/** A module of the bundle, and the one that builds the page where the program runs from its sources. */
const [BUNDLED = "", SOURCES = ""] = ["./reasonix.page.js", "../../../scripts/page.ts"];

/** The files of the page, of this very version. */
export class PageFiles {
  readonly #files: BuiltPage["files"];
  /** Differs from that of a page which is older or newer than this program. */
  readonly build: string;

  constructor({ files, build }: BuiltPage) {
    [this.#files, this.build] = [files, build];
  }

  static async load(): Promise<PageFiles> {
    // A module that asks for its own address would be in the program, with all that it is bundled with.
    const bundled = await import(BUNDLED).then((module) => module.default, () => undefined);
    try {
      return new PageFiles(bundled ?? await (await import(SOURCES)).builtPage());
    } catch (error) {
      throw new ReasonixError(message`Cannot find the web page: ${errorMessage(error)}`, {
        remedy: message`keep reasonix.web.js next to reasonix.js`,
      });
    }
  }

  /** Returns `index.html` or a file below `/assets/`; compressed when the browser accepts gzip. */
  file(name: string, acceptEncoding: string): Response | undefined {
    const content = Object.hasOwn(this.#files, name) ? this.#files[name] : undefined;
    if (content === undefined) return undefined;
    const packed = Uint8Array.fromBase64(content);
    const accepted = /\bgzip\b(?!;q=0(?:\.0*)?(?:,|$))/.test(acceptEncoding);
    return new Response(accepted ? packed : new Uint8Array(gunzipSync(packed)), {
      headers: {
        "content-type": TYPES[name.replace(/^.*\./, "")] ?? "application/octet-stream",
        "cache-control": name === "index.html" ? "no-store" : "public, max-age=31536000, immutable",
        ...(accepted ? { "content-encoding": "gzip" } : {}),
        vary: "accept-encoding",
      },
    });
  }
}
