/**
 * Names under which the program is published. The npm package, install scripts, manifests, README's install
 * line and `reasonix update` are made from them. A value that begins with `@unset` is not decided yet; a step
 * that would publish it stops.
 */

/** Name of the package on npm. */
export const NPM_NAME: string = "@unset-npm-name";

/** Repository on GitHub, `owner/name`, whose releases hold the files. */
export const REPOSITORY: string = "@unset-repository";

/** Public minisign key of the releases: the second line of `minisign.pub`. */
export const PUBLIC_KEY: string = "@unset-public-key";

/** Returns the value, or undefined if it is not decided. */
export function decided(value: string): string | undefined {
  return value.startsWith("@unset") ? undefined : value;
}
