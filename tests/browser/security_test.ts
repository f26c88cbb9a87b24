/** Attacks on the web page from a real browser. Each one must fail, and no request may leave the origin. */
import type { Page } from "playwright-core";
import { call, say } from "../support/agent_fixture.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { FIRST_REPLY, storeEveryRow } from "../support/every_row.ts";
import { ATTACKER, browserTest, type Visitor } from "../support/browser.ts";
import { type ServedHere, serveHere } from "../support/web.ts";

/** Serves pages of an attacker; they are reached by the address of this machine and by another name. */
function servePages(pages: Readonly<Record<string, string>>) {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ url }) => {
    const text = pages[new URL(url).pathname];
    const headers = { "content-type": "text/html; charset=utf-8" };
    return text === undefined ? new Response("", { status: 404 }) : new Response(text, { headers });
  });
  return {
    port: server.addr.port,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** A page that attacks a server without sign-in, where nothing but its checks is in the way. */
function attackPage(origin: string): string {
  const message = JSON.stringify({ directory: "/tmp", text: "run it", id: "12345678" });
  const api = `${origin}/api/v1`;
  return `<!DOCTYPE html><body>
    <iframe name="target" src="${origin}/"></iframe>
    <iframe name="plain"></iframe><iframe name="coded"></iframe><iframe name="parts"></iframe>
    <form id="plain" target="plain" method="POST" enctype="text/plain" action="${api}/sessions">
      <input name='${message.slice(0, -1)},"x":"' value='"}'></form>
    <form id="coded" target="coded" method="POST" action="${api}/sessions"><input name="directory"></form>
    <form id="parts" target="parts" method="POST" enctype="multipart/form-data" action="${api}/links">
      <input name="role" value="owner"></form>
    <link rel="prefetch" href="${api}/sessions"><link rel="preload" as="fetch" href="${api}/openapi.json">
    <link rel="prerender" href="${origin}/"><link rel="stylesheet" href="${api}/sessions">
    <img src="${api}/sessions"><script src="${api}/sessions"></script>
    <object data="${origin}/"></object><embed src="${origin}/"><video src="${api}/stream"></video>
    <script>
    const results = {};
    const body = ${JSON.stringify(message)};
    const attempt = async (name, act) => {
      try { results[name] = "succeeded: " + await act(); } catch (error) { results[name] = "failed"; }
    };
    const json = { "content-type": "application/json" };
    const opened = (source) => new Promise((resolve, reject) => {
      source.onopen = source.onmessage = () => resolve("open");
      source.onerror = reject;
    });
    const post = (mode, headers) => fetch("${api}/sessions", { method: "POST", mode, headers, body });
    const answers = async (response) => (await response).text().then((text) => text || Promise.reject());
    window.attacks = (async () => {
      await attempt("cross-origin JSON", () => answers(post("cors", json)));
      await attempt("no-cors JSON", () => answers(post("no-cors", json)));
      await attempt("no-cors text", () => answers(post("no-cors", { "content-type": "text/plain" })));
      await attempt("cross-origin text", () => answers(post("cors", { "content-type": "text/plain" })));
      await attempt("cross-origin read", () => answers(fetch("${api}/sessions")));
      await attempt("opaque read", () => answers(fetch("${api}/sessions", { mode: "no-cors" })));
      await attempt("DELETE", () => answers(fetch("${api}/sessions/x", { method: "DELETE" })));
      await attempt("stream", () => opened(new EventSource("${api}/stream")));
      await attempt("socket", () => opened(new WebSocket("${api.replace("http", "ws")}/stream")));
      await attempt("worker", () => opened(new SharedWorker("${origin}/assets/stream.js").port));
      await attempt("module", () => import("${origin}/assets/main.js"));
      await attempt("beacon", () => navigator.sendBeacon("${api}/sessions", body) ? Promise.reject() : "kept");
      await attempt("frame", () => document.querySelector("iframe").contentDocument.body.innerHTML);
      await attempt("window", () => {
        const page = window.open("${origin}/", "other");
        return new Promise((resolve, reject) => setTimeout(() => {
          try { resolve(page.document.body.innerHTML); } catch (error) { reject(error); }
        }, 200));
      });
      for (const id of ["plain", "coded", "parts"]) {
        await attempt("form " + id, () => new Promise((resolve, reject) => {
          document.querySelector("iframe[name=" + id + "]").onload = reject;
          document.getElementById(id).submit();
        }));
      }
      return results;
    })();
  </script>`;
}

/** Requires that the API has refused all requests of other pages. */
async function refusedAll({ answers }: Visitor, { origin }: ServedHere): Promise<void> {
  const passed = (await answers()).filter(({ url, status, site }) =>
    url.startsWith(`${origin}/api/`) && status < 400 && site !== "same-origin"
  );
  assertEquals(passed, []);
  const refused = (await answers()).filter(({ url, status }) => url.startsWith(origin) && status >= 400);
  assert(refused.length >= 3, `only ${refused.length} answers were refusals`);
}

function isUntouched({ stage }: ServedHere): void {
  assertEquals(stage.sessions.all.length, 0);
}

browserTest("a request to another machine would be seen: as a request, and at the trap", async (test) => {
  await using pages = servePages({
    "/": `<img src="http://leak.example/pixel"><script>alert("ran")</script>`,
  });
  for (const host of ["127.0.0.1", ATTACKER]) {
    const { page, requests, dialogs } = await test.visitor();
    await page(`http://${host}:${pages.port}/`);
    assertEquals(requests.includes("http://leak.example/pixel"), true, requests.join());
    assertEquals(dialogs, ["ran"]);
  }
  assertEquals(test.outside.filter((line) => line === "GET /pixel HTTP/1.1").length, 2);
});

browserTest(
  "pages of another origin neither change nor read anything, even without sign-in",
  async (test) => {
    await using served = await serveHere({ web: { auth: { mode: "none" } } });
    await using pages = servePages({ "/": attackPage(served.origin) });
    for (const host of ["127.0.0.1", "localhost", ATTACKER]) {
      const attacker = await test.visitor();
      const page = await attacker.page(`http://${host}:${pages.port}/`);
      const results = await page.evaluate("attacks") as Record<string, string>;
      assert(Object.keys(results).length === 17, JSON.stringify(results));
      assertEquals(Object.entries(results).filter(([, result]) => result !== "failed"), [], host);
      await page.waitForFunction("document.querySelectorAll('iframe')[1] !== undefined");
      await refusedAll(attacker, served);
      const frames = page.frames().filter((frame) => frame.url().startsWith(served.origin));
      assertEquals(
        await Promise.all(frames.map((frame) => frame.locator(".brand").count())),
        frames.map(() => 0),
      );
      isUntouched(served);
    }
  },
);

browserTest("a name of an attacker that leads to the server gets neither page nor API", async (test) => {
  await using served = await serveHere({ web: { auth: { mode: "none" } } });
  const rebound = `http://${ATTACKER}:${new URL(served.origin).port}`;
  const { page, answers } = await test.visitor();
  const attacker = await page(`${rebound}/`);
  assertEquals(await attacker.locator(".brand").count(), 0);
  const json =
    `{ method: "POST", headers: { "content-type": "application/json" }, body: '{"directory":"/tmp"}' }`;
  const statuses = await attacker.evaluate(`Promise.all([
    fetch("/"), fetch("/api/v1/server"), fetch("/api/v1/sessions"), fetch("/api/v1/sessions", ${json}),
  ]).then((all) => all.map(({ status }) => status))`);
  assertEquals(statuses, [421, 421, 421, 421]);
  assertEquals((await answers()).filter(({ status }) => status !== 421), []);
  isUntouched(served);
});

browserTest(
  "a link signs in one browser, leaves the address bar, and a stolen one shows the sign-in",
  async (test) => {
    await using served = await serveHere();
    const link = served.server.link("owner");
    const owner = await test.visitor();
    const page = await owner.page(link);
    await page.locator(".app").waitFor();
    assertEquals([page.url(), await page.evaluate("location.hash")], [`${served.origin}/`, ""]);
    const kept = await page.evaluate("JSON.stringify({ ...localStorage })") as string;
    assert(!kept.includes(link.split("token=")[1] ?? ""), "the token is kept");
    await page.goBack().catch(() => {});
    assert(!page.url().includes("token"), page.url());

    const thief = await test.visitor();
    const stolen = await thief.page(link);
    await stolen.locator("form input[type=password]").waitFor();
    await stolen.getByRole("alert").waitFor();
    assertEquals(await stolen.evaluate("Object.keys(localStorage).filter((key) => /secret/.test(key))"), []);
    assertEquals(
      (await thief.answers()).filter(({ url, status }) => /sign-in$/.test(url) && status < 400),
      [],
    );

    const urls = [...owner.requests, ...thief.requests];
    assertEquals(urls.filter((url) => !url.startsWith(served.origin) || /token|secret/.test(url)), []);
  },
);

browserTest("another server on another port of the host gets nothing of a browser's secret", async (test) => {
  await using ours = await serveHere();
  await using other = await serveHere();
  const { page, context } = await test.visitor();
  const first = await page(ours.server.link("owner"));
  await first.getByText("Connected", { exact: true }).waitFor();
  const secret = await first.evaluate(`localStorage.getItem("reasonix.secret")`) as string;
  assert(/^[\w-]{43}$/.test(secret), secret);
  assertEquals(await context.cookies(), []);
  const sent: string[] = [];
  context.on("request", async (request) => {
    if (request.url().startsWith(other.origin)) sent.push(JSON.stringify(await request.allHeaders()));
  });
  const second = await page(`${other.origin}/`);
  await second.locator("form input[type=password]").waitFor();
  assertEquals(await second.evaluate(`localStorage.getItem("reasonix.secret")`), null);
  assert(sent.length > 0 && !sent.some((headers) => headers.includes(secret)), "the secret was sent");
  assertEquals((await other.client(secret)("/api/v1/links", { json: { role: "owner" } })).status, 401);
});

browserTest("a viewer's browser cannot change anything, whatever its page sends", async (test) => {
  await using served = await serveHere();
  const { page } = await test.visitor();
  const viewer = await page(served.server.link("viewer"));
  await viewer.getByText("Connected", { exact: true }).waitFor();
  const statuses = await viewer.evaluate(`Promise.all([
    ["POST", "/links"], ["POST", "/sessions"], ["POST", "/sessions/x/messages"], ["DELETE", "/sessions/x"],
    ["PATCH", "/sessions/x"], ["POST", "/sessions/x/questions/y"], ["PATCH", "/sessions/x/settings"],
  ].map(async ([method, path]) => {
    const authorization = "Bearer " + localStorage.getItem("reasonix.secret");
    const headers = { authorization, "content-type": "application/json" };
    return (await fetch("/api/v1" + path, { method, headers, body: "{}" })).status;
  }))`);
  assertEquals(statuses, Array(7).fill(403));
  isUntouched(served);
});

const LEAK = "http://leak.example";
/** Texts that run or load something wherever they count as HTML, Markdown, an address or a style. */
const HOSTILE = [
  `<script>alert(1)</script>`,
  `</script><script>alert(2)</script>`,
  `"><img src=x onerror=alert(3)>`,
  `<img src="${LEAK}/1">`,
  `<svg onload=alert(4)><a xlink:href="javascript:alert(5)">x</a></svg>`,
  `<iframe srcdoc="<script>parent.alert(6)</script>"></iframe><iframe src="${LEAK}/2"></iframe>`,
  `<style>@import "${LEAK}/3"; * { background: url(${LEAK}/4) }</style>`,
  `<link rel="stylesheet" href="${LEAK}/5"><meta http-equiv="refresh" content="0;url=${LEAK}/6">`,
  `<base href="${LEAK}/"><form action="${LEAK}/7"><button autofocus onfocus=alert(7)>x</button></form>`,
  `<video src="${LEAK}/8" poster="${LEAK}/9"></video><object data="${LEAK}/10"></object><embed src="${LEAK}/11">`,
  `![pixel](${LEAK}/12.png) ![ref][ref] [![inner](${LEAK}/13.png)](${LEAK}/14)\n\n[ref]: ${LEAK}/15.png`,
  `[a](javascript:alert(8)) [b](JaVaScRiPt:alert(9)) [c](java\tscript:alert(10)) [d](&#106;avascript:alert(11))`,
  `[e](data:text/html,<script>alert(12)</script>) [f](vbscript:x) [g](file:///etc/passwd) [h](//leak.example/16)`,
  `[i](blob:${LEAK}/17) [j](\u0001javascript:alert(13)) <javascript:alert(14)> [k](${LEAK}/18 "x\" onmouseover=alert(15)")`,
  "\`\`\`<img src=x onerror=alert(16)>\n</code></pre><script>alert(17)</script>\n\`\`\`",
  `| <img src=x onerror=alert(18)> | ![t](${LEAK}/19) |\n|---|---|\n| [l](javascript:alert(19)) | x |`,
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(20)&gt;">`,
  `\u202Egnp.exe\u2066 \u200Bhidden\u2029 \u0007\u001b]8;;${LEAK}/20\u0007link\u001b]8;;\u0007`,
  `{{constructor.constructor('alert(21)')()}} \${alert(22)} %3Cscript%3Ealert(23)%3C/script%3E`,
];

/** Requires that nothing of a page has run, leads elsewhere, or was loaded. */
async function isHarmless(page: Page, visitor: Visitor, origin: string): Promise<void> {
  const found = await page.evaluate(`(() => {
    const bad = "iframe, frame, object, embed, base, meta[http-equiv], form[action], video, audio, svg, math, " +
      "style, img:not([src^='data:image/']):not([src^='blob:']), script:not([src]), link[href*=leak]";
    const found = [...document.querySelectorAll(bad)].map((element) => element.outerHTML.slice(0, 200));
    for (const element of document.querySelectorAll("*")) {
      for (const { name, value } of element.attributes) {
        if (/^on/i.test(name) || name === "style" && /url/.test(value)) found.push(name + "=" + value);
      }
    }
    for (const link of document.querySelectorAll("a[href]")) {
      const isOurs = link.origin === location.origin && link.pathname.startsWith("/s/");
      const isSafe = /^https?:$/.test(link.protocol) && link.target === "_blank" &&
        /noopener/.test(link.rel) && /noreferrer/.test(link.rel);
      if (!isOurs && !isSafe) found.push(link.outerHTML.slice(0, 200));
    }
    return found;
  })()`);
  assertEquals(found, []);
  assertEquals(visitor.dialogs, []);
  assertEquals(
    visitor.requests.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:image/")),
    [],
  );
  // The policy is the second line of defence: it had nothing to refuse.
  assertEquals(visitor.problems.filter((text) => /Content Security Policy|Refused/.test(text)), []);
}

/** Opens everything that can be opened. */
async function openAll(page: Page): Promise<void> {
  await page.evaluate(`(() => {
    for (const closed of document.querySelectorAll("[aria-expanded=false], button.more")) closed.click();
    for (const details of document.querySelectorAll("details")) details.open = true;
  })()`);
  await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))");
}

browserTest("hostile texts in every row, panel and title run nothing and load nothing", async (test) => {
  await using served = await serveHere({ replies: [FIRST_REPLY] });
  const outside = test.outside.length;
  const id = await storeEveryRow(served, () => HOSTILE.join("\n\n"));
  const owner = await test.visitor();
  const page = await owner.page(served.server.link("owner", id));
  await page.getByText("This is the end.").waitFor();
  await openAll(page);
  await page.locator(".row.reply table").first().waitFor();
  await isHarmless(page, owner, served.origin);
  for (const tab of ["log", "session", "files"]) {
    await page.locator(`#tab-${tab}`).click();
    await openAll(page);
    await isHarmless(page, owner, served.origin);
  }
  // A link that is followed goes elsewhere without a referrer and without a way back.
  const link = page.locator(`a[href^="${LEAK}/12"]`).first();
  const [opened] = await Promise.all([owner.context.waitForEvent("page"), link.click()]);
  assertEquals(await opened.evaluate("opener").catch(() => null), null);
  assertEquals(page.url(), `${served.origin}/s/${id}`);
  assertEquals(test.outside.slice(outside).filter((line) => line !== "GET /12.png HTTP/1.1"), []);
});

browserTest(
  "hostile texts of a running turn and in its questions run nothing and load nothing",
  async (test) => {
    const name = `<img src=x onerror=alert(1)>\u202Egnp.md`;
    const asks = { question: HOSTILE.join(" "), options: HOSTILE.slice(0, 4).map((label) => ({ label })) };
    await using served = await serveHere({
      files: { [name]: HOSTILE.join("\n") },
      replies: [
        [
          { type: "reasoning", text: HOSTILE.join("\n\n") },
          ...HOSTILE.map((text) => ({ type: "text" as const, text: `${text}\n\n` })),
          call("c1", "read_file", { path: name }),
          call("c2", "write_file", { path: "<img src=x onerror=alert(2)>.md", content: HOSTILE.join("\n") }),
          { type: "done", reason: "tool_calls" },
        ],
        [call("c3", "bash", { command: `echo '${HOSTILE.join("\n")}' \u202Egnp` }), {
          type: "done",
          reason: "tool_calls",
        }],
        [call("c4", "ask", { questions: [asks] }), { type: "done", reason: "tool_calls" }],
        say(HOSTILE.join("\n\n") + "\n\nThis is the end."),
      ],
    });
    const made = await served.owner("/api/v1/sessions", { json: { directory: served.stage.cwd } });
    const { id } = await made.json();
    const owner = await test.visitor();
    const outside = test.outside.length;
    const page = await owner.page(served.server.link("owner", id));
    await page.locator("textarea").fill(HOSTILE.join("\n\n"));
    await page.locator("textarea").press("Enter");
    const answer = page.locator("dialog[open] .answers button:enabled").first();
    for (const kind of ["approval", "approval", "ask"]) {
      await answer.waitFor();
      assertEquals(await page.locator("dialog[open]").getAttribute("data-kind"), kind);
      await openAll(page);
      await isHarmless(page, owner, served.origin);
      const text = await page.locator("dialog[open]").innerText();
      assert(!/[\u202a-\u202e\u2066-\u2069\u200b]/.test(text), "a character hides what is asked");
      const asked = await page.locator("dialog[open] h2").innerText();
      await answer.click();
      await page.waitForFunction(
        (before) =>
          (globalThis as unknown as {
            document: { querySelector(name: string): { textContent: string } | null };
          })
            .document.querySelector("dialog[open] h2")?.textContent !== before,
        asked,
      );
    }
    await page.getByText("This is the end.").waitFor();
    await openAll(page);
    await isHarmless(page, owner, served.origin);
    assertEquals(test.outside.length, outside);
  },
);
