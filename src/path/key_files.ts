/** Names of files that hold keys or other secrets, and git's directory. Examples of them hold none. */
const KEY_FILES = new RegExp(
  "(?:^|/)(?:\\.git|\\.ssh|\\.gnupg|\\.aws|\\.env(?:\\.(?!example$|sample$|template$|dist$)[^/]*)?|\\.envrc|" +
    "\\.netrc|_netrc|\\.npmrc|\\.pypirc|\\.git-credentials|\\.htpasswd|id_(?:rsa|dsa|ecdsa|ed25519)|" +
    "[^/]*\\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk))(?:/|$)|(?:^|/)credentials(?:\\.json)?$",
  "i",
);

/**
 * Reports whether a path names a file that a shared view of a session and a review leave out, whatever the
 * rules say: other people read them.
 */
export function mayHoldKeys(path: string): boolean {
  return KEY_FILES.test(path.replaceAll("\\", "/"));
}
