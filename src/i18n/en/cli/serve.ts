import type { Translate } from "../../translate.ts";

/** Texts of `reasonix serve` and `reasonix web`. */
export const texts = (t: Translate) => ({
  serves: (origin: string) => t`Reasonix serves ${origin}`,
  /** A link that signs in one browser follows. */
  signIn: (link: string) => t`Sign in: ${link}`,
  once: t`  (the link signs in one browser; the next one is printed when it was used)`,
  /** A link that signs in one viewer follows. */
  watch: (link: string) => t`Watch: ${link}`,
  open: t`All accounts of this machine can use it without sign-in`,
  plain: t`The connection is not encrypted: the network can read secrets and change the page`,
  proxy: t`Set serve.origin to the public address, otherwise requests through the proxy are refused`,
  stop: t`Stop with Ctrl-C`,
  signedIn: (from: string, role: string) => t`A browser at ${from} has signed in (${role})`,
  waits: t`A question waits for its answer on the web page`,
  owner: t`owner`,
  viewer: t`viewer`,
});
