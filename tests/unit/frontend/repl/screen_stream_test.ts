import { Screen } from "../../../../src/frontend/repl/screen/screen.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { VirtualTerminal, type VirtualTerminalOptions } from "../../../support/virtual_terminal.ts";

const WORDS = "the quick brown fox 漢字 jumps over a lazy dog **bold** and `code` in [a link] 👍🏽 end".split(
  " ",
);

/** Tokens of an answer as a model streams them: words, blanks, line ends, lists, code, wide characters. */
function* tokens(count: number): Generator<string> {
  let seed = 7;
  for (let index = 0; index < count; index++) {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    if (index % 97 === 96) yield "\n\n";
    else if (index % 31 === 30) yield "\n- ";
    else yield `${WORDS[seed % WORDS.length]} `;
  }
}

/** Shows a streaming answer: whole rows become history, the last one is live above a composer. */
class Answer {
  readonly terminal: VirtualTerminal;
  readonly screen: Screen;
  readonly rows: string[] = [];
  #row = "";
  #width = 0;

  constructor(options: VirtualTerminalOptions) {
    this.terminal = new VirtualTerminal(options);
    const bar = "─".repeat(this.terminal.columns - 1);
    this.screen = new Screen(this.terminal, {
      frame: () => ({
        lines: [this.#row.trimEnd(), "", bar, "> typed ahead", bar, "model · ask · ~/project · 12 % · $0.34"],
        caret: { row: 3, column: 13 },
      }),
    });
    this.screen.open();
  }

  token(text: string): void {
    for (const part of text.split(/(\n)/)) {
      const width = part.length + 2;
      if (part === "\n" || this.#width + width > this.terminal.columns) this.#over();
      if (part === "\n") continue;
      this.#row += part;
      this.#width += width;
    }
  }

  #over(): void {
    this.rows.push(this.#row.trimEnd());
    this.screen.print([this.#row.trimEnd()]);
    this.#row = "";
    this.#width = 0;
  }
}

// A frame brings that many tokens when a model sends 60, 250 or 2,000 in a second.
for (const perFrame of [2, 8, 66]) {
  for (const synchronized of [false, true]) {
    const kind = `${perFrame} tokens per frame, ${synchronized ? "held back" : "shown"} as they come`;
    Deno.test(`screen writes an answer of 10,000 tokens with few bytes and once: ${kind}`, () => {
      const answer = new Answer({ columns: 80, rows: 24, synchronized });
      let count = 0;
      for (const token of tokens(10_000)) {
        answer.token(token);
        if (++count % perFrame === 0) answer.screen.draw();
      }
      answer.screen.draw();
      const { terminal, rows } = answer;
      const history = terminal.text().slice(0, rows.length);
      assertEquals(history, rows);
      const visible = new TextEncoder().encode(rows.join("\n")).length;
      assert(terminal.bytes <= 3 * visible, `${terminal.bytes} bytes for ${visible} of text`);
      assertEquals(terminal.destructive(), []);
    });
  }
}
