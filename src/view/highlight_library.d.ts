/** The part of highlight.js that is used; its own types bring those of browsers with them. */
interface Library {
  getLanguage(name: string): object | undefined;
  highlight(
    code: string,
    options: { readonly language: string; readonly ignoreIllegals: boolean },
  ): { readonly value: string };
}

declare const library: Library;
export default library;
