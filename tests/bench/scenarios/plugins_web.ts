/** The time of `web_open` for a page of 200 KB: the first one of a process, and those after it. */
import { openPlugin } from "../../support/plugin_client.ts";
import { type Row, row } from "../report.ts";
import type { Bench } from "../runner.ts";

const SIZE = 200_000;
const PROCESSES = 7;
/** Pages of a process after its first one. */
const PAGES = 5;
const COLD_MS = 250;
const WARM_MS = 40;

export async function webRows(
  { file, scratch, quick }: Pick<Bench, "quick"> & { readonly file: string; readonly scratch: string },
): Promise<Row[]> {
  const headers = { "content-type": "text/html; charset=utf-8" };
  const page = article();
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  await using server = Deno.serve(options, () => new Response(page, { headers }));
  const cold: number[] = [];
  const warm: number[] = [];
  for (let round = 0; round < (quick ? PROCESSES / 2 : PROCESSES); round++) {
    const settings = { allow_private: ["127.0.0.1"] };
    await using plugin = await openPlugin("web", {
      file,
      workspace: scratch,
      home: `${scratch}/home`,
      settings,
    });
    for (let index = 0; index <= PAGES; index++) {
      const url = `http://127.0.0.1:${server.addr.port}/${index}`;
      const begun = performance.now();
      const { isError, content } = await plugin.client.callTool({ name: "web_open", arguments: { url } });
      if (isError) throw new Error(JSON.stringify(content));
      (index === 0 ? cold : warm).push(performance.now() - begun);
    }
  }
  return [
    row({ figure: "web: first web_open of a page of 200 KB", unit: "ms", reasonix: cold, target: COLD_MS }),
    row({ figure: "web: web_open of further pages of 200 KB", unit: "ms", reasonix: warm, target: WARM_MS }),
  ];
}

/** A page as documentation has them: navigation, prose with links, lists, code and tables; 2,500 elements. */
function article(): string {
  const links = Array.from({ length: 60 }, (_, n) => `<li><a href="/nav/${n}">Entry ${n}</a></li>`).join("");
  const parts: string[] = [];
  for (let n = 0, size = 0; size < SIZE - 5000; n++) {
    const sentence = "It is read once, when the program starts, and a change counts with the next start. "
      .repeat(6);
    const text =
      `<p>Paragraph ${n} says how <a href="/option/${n}">option ${n}</a> works and what it does with ` +
      `<code>read_${n}()</code> where a file, the environment or an argument has it. ${sentence}</p>`;
    const rows = `<tr><td>a</td><td>${n}</td></tr><tr><td>b</td><td>${n + 1}</td></tr>`;
    const part =
      `<section class="part"><h2 id="p${n}">Part ${n}</h2>${
        text.repeat(3)
      }<ul><li>one</li><li>two</li></ul>` +
      `<pre><code class="language-ts">const value${n} = read("${n}");\nif (value${n} &gt; 3) stop();</code></pre>` +
      `<table><thead><tr><th>Key</th><th>Value</th></tr></thead><tbody>${rows}</tbody></table></section>`;
    parts.push(part);
    size += part.length;
  }
  const style = "<style>.nav { color: #333 } .part { margin: 1em }</style>";
  return `<!doctype html><html lang="en"><head><title>Options</title>${style}</head><body><nav class="nav"><ul>` +
    `${links}</ul></nav><main><article><h1>Options</h1>${parts.join("\n")}</article></main></body></html>`;
}
