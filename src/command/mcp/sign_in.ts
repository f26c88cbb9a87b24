import { lookUpSecret } from "../../config/mod.ts";
import { isAbort } from "../../core/mod.ts";
import type { Texts } from "../../i18n/mod.ts";
import { loadSignIn, type McpServerSpec } from "../../mcp/mod.ts";
import { openInBrowser } from "../../util/network/browser.ts";
import { oneLine } from "../../util/terminal_text.ts";
import type { CommandHost } from "../command.ts";

type SignInTexts = Texts["mcp_commands"]["signIn"];

/**
 * Signs the user in at a server: shows the address, opens it after a yes, and waits until the browser has
 * come back, the user has left, or the signal aborts. Returns whether they are signed in; throws a
 * ReasonixError that says what was in the way.
 */
export async function signInAt(
  host: CommandHost,
  spec: McpServerSpec,
  texts: SignInTexts,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { paths, loaded } = await host.session();
  const { signIn } = await loadSignIn();
  const left = new AbortController();
  const pasted = Promise.withResolvers<string>();
  try {
    const { issuer, scope } = await signIn(spec, {
      home: paths.home,
      secret: (variable) => lookUpSecret(variable, loaded.keys),
      visit: async (address) => {
        const text = await send(host, address, texts, paths.cwd);
        if (text === undefined) left.abort(new DOMException("The user left", "AbortError"));
        else if (text !== "") pasted.resolve(text);
      },
      pasted: once(pasted.promise),
      refused: (why) => host.say(texts.notTaken(oneLine(why, 300))),
      signal: signal ? AbortSignal.any([signal, left.signal]) : left.signal,
    });
    host.say(texts.done(spec.name, oneLine(issuer, 200), scope === undefined ? "" : oneLine(scope, 300)));
    return true;
  } catch (error) {
    if (!isAbort(error)) throw error;
    host.say(texts.stopped);
    return false;
  } finally {
    left.abort();
    pasted.resolve("");
  }
}

/** Shows the address, and opens it when asked. The address that the user has pasted; undefined: they left. */
async function send(
  host: CommandHost,
  address: URL,
  texts: SignInTexts,
  cwd: string,
): Promise<string | undefined> {
  const how = await host.choose(`${texts.how(address.host)}\n${address.href}`, [
    { label: texts.open, value: "open" as const },
    { label: texts.myself, value: "myself" as const },
    { label: texts.paste, value: "paste" as const },
  ]);
  if (how === undefined) return undefined;
  const isOpen = how === "open" && openInBrowser(address, [cwd]);
  if (how === "open" && !isOpen) host.say(texts.noBrowser);
  // Never broken into lines: it is to be copied.
  host.say(`${isOpen ? texts.opened : texts.visit}\n\n${address.href}`, "plain");
  if (how === "paste") return await host.prompt(texts.pasteHere);
  host.say(texts.waiting);
  return "";
}

async function* once(text: Promise<string>): AsyncGenerator<string> {
  yield await text;
}
