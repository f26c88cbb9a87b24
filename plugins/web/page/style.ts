/** The styles that decide whether text is visible: style attributes, and style sheets in the page. */

/** The properties that can hide text, in the words of CSS, lower case. */
export type Look = Map<string, string>;

const PROPERTIES = new Set(
  [
    "display visibility content-visibility opacity font-size font color background background-color",
    "background-image background-clip -webkit-background-clip position left right top bottom text-indent",
    "margin-left margin-top clip clip-path transform width height max-width max-height overflow overflow-x",
    "overflow-y",
  ].join(" ").split(" "),
);

/** One `tag.class#id`; the list of them from left to right, `child` where a `>` comes before it. */
interface Compound {
  readonly tag: string;
  readonly id: string;
  readonly classes: readonly string[];
  readonly child: boolean;
}

interface StyleRule {
  readonly compounds: readonly Compound[];
  readonly look: Look;
  readonly weight: number;
}

/** An open element, as far as selectors look at it. */
export interface Styled {
  readonly tag: string;
  readonly id: string;
  readonly classes: readonly string[];
}

const MAX_RULES = 5000;
const MAX_SELECTOR = 300;
const MAX_CHECKS = 10_000_000;
const IMPORTANT = "!";

/** Reads the declarations of a style attribute or a rule. */
export function lookOf(declarations: string): Look {
  const look: Look = new Map();
  for (const declaration of declarations.split(";", 200)) {
    const colon = declaration.indexOf(":");
    if (colon < 0) continue;
    const name = declaration.slice(0, colon).trim().toLowerCase();
    if (!PROPERTIES.has(name)) continue;
    const value = declaration.slice(colon + 1, colon + 200).trim().toLowerCase();
    const plain = value.replace(/\s*!\s*important$/, "");
    if (plain === value && look.get(name)?.startsWith(IMPORTANT)) continue;
    look.set(name, plain === value ? plain : IMPORTANT + plain);
  }
  return look;
}

/**
 * The rules of the style sheets in a page that can hide text. Selectors of tags, classes and ids count, also
 * one in another or as its child; all others, and rules for print or some widths, are ignored.
 */
export class StyleSheet {
  readonly #rules = new Map<string, StyleRule[]>();
  #count = 0;
  #checks = 0;

  /** What is hidden can no longer be found out in bounded time. */
  get isExhausted(): boolean {
    return this.#checks > MAX_CHECKS;
  }

  add(css: string): void {
    const text = css.replace(/\/\*[^]*?(?:\*\/|$)/g, "");
    let at = 0;
    while (this.#count < MAX_RULES) {
      const open = text.indexOf("{", at);
      if (open < 0) return;
      const selectors = text.slice(Math.max(at, open - 5000), open).replace(/^[^]*[;}]/, "").trim();
      if (selectors.startsWith("@")) {
        at = isAlwaysOn(selectors) ? open + 1 : endOfBlock(text, open);
        continue;
      }
      const close = text.indexOf("}", open);
      at = close < 0 ? text.length : close + 1;
      const look = lookOf(text.slice(open + 1, close < 0 ? undefined : close));
      if (look.size > 0) { for (const selector of selectors.split(",", 200)) this.#addRule(selector, look); }
    }
  }

  #addRule(selector: string, look: Look): void {
    const compounds = parsed(selector);
    const last = compounds?.at(-1);
    if (!compounds || !last) return;
    const weight = compounds.reduce(
      (sum, { id, classes, tag }) =>
        sum + (id === "" ? 0 : 10_000) + 100 * classes.length + (tag === "" ? 0 : 1),
      0,
    );
    const key = last.id !== "" ? `#${last.id}` : last.classes[0] ? `.${last.classes[0]}` : last.tag;
    const rules = this.#rules.get(key);
    const rule = { compounds, look, weight };
    if (rules) rules.push(rule);
    else this.#rules.set(key, [rule]);
    this.#count++;
  }

  /** What the sheets and the style attribute say together; `path` ends with the element itself. */
  lookOf(path: readonly Styled[], inline: string | undefined): Look | undefined {
    const element = path.at(-1);
    if (!element) return undefined;
    const found: StyleRule[] = [];
    if (this.#count > 0) {
      const keys = [`#${element.id}`, ...element.classes.map((name) => `.${name}`), element.tag, "*"];
      for (const key of keys) {
        const rules = this.#rules.get(key) ?? [];
        this.#checks += rules.length;
        for (const rule of rules) if (matches(rule.compounds, path)) found.push(rule);
      }
    }
    if (found.length === 0) return inline === undefined ? undefined : plain(lookOf(inline));
    const look: Look = new Map();
    const looks = found.sort((a, b) => a.weight - b.weight).map((rule) => rule.look);
    for (const each of inline === undefined ? looks : [...looks, lookOf(inline)]) {
      for (const [name, value] of each) {
        if (!look.get(name)?.startsWith(IMPORTANT) || value.startsWith(IMPORTANT)) look.set(name, value);
      }
    }
    return plain(look);
  }
}

function plain(look: Look): Look {
  for (const [name, value] of look) if (value.startsWith(IMPORTANT)) look.set(name, value.slice(1));
  return look;
}

function isAlwaysOn(rule: string): boolean {
  return /^@(?:layer|supports|media\s+(?:only\s+)?(?:all|screen)\s*$)/i.test(rule);
}

function endOfBlock(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    const sign = text[at];
    if (sign === "{") depth++;
    else if (sign === "}" && --depth === 0) return at + 1;
  }
  return text.length;
}

function parsed(selector: string): Compound[] | undefined {
  if (selector.length > MAX_SELECTOR) return undefined;
  const parts = selector.trim().replace(/\s*>\s*/g, " > ").split(/\s+/);
  if (parts.length > 8) return undefined;
  const compounds: Compound[] = [];
  let child = false;
  for (const part of parts) {
    if (part === ">") {
      child = true;
      continue;
    }
    const found = /^([a-z][\w-]*|\*)?((?:[.#][\w-]+)*)$/i.exec(part);
    if (!found || part === "") return undefined;
    const names = (found[2] ?? "").match(/[.#][\w-]+/g) ?? [];
    compounds.push({
      tag: (found[1] ?? "").toLowerCase(),
      id: names.find((name) => name.startsWith("#"))?.slice(1) ?? "",
      classes: names.filter((name) => name.startsWith(".")).map((name) => name.slice(1)),
      child,
    });
    child = false;
  }
  return compounds;
}

function matches(compounds: readonly Compound[], path: readonly Styled[]): boolean {
  let at = path.length - 1;
  let next: Compound | undefined;
  for (const compound of compounds.toReversed()) {
    if (next === undefined) {
      if (!fits(compound, path[at])) return false;
    } else if (next.child) {
      if (!fits(compound, path[--at])) return false;
    } else {
      do at--; while (at >= 0 && !fits(compound, path[at]));
      if (at < 0) return false;
    }
    next = compound;
  }
  return true;
}

function fits({ tag, id, classes }: Compound, element: Styled | undefined): boolean {
  return element !== undefined && (tag === "" || tag === "*" || tag === element.tag) &&
    (id === "" || id === element.id) && classes.every((name) => element.classes.includes(name));
}

/** Whether nothing of an element with this look can be seen, not even its descendants. */
export function hides(look: Look): boolean {
  const value = (name: string) => look.get(name) ?? "";
  const far = (name: string) => pixels(value(name)) <= (name.startsWith("margin") ? -1000 : -500);
  const thin = (name: string) => Math.abs(pixels(value(name))) <= 1;
  const opacity = value("opacity");
  return value("display") === "none" || value("content-visibility") === "hidden" ||
    (opacity !== "" && parseFloat(opacity) / (opacity.endsWith("%") ? 100 : 1) <= 0.05) ||
    (/absolute|fixed|relative/.test(value("position")) && ["left", "right", "top", "bottom"].some(far)) ||
    ["text-indent", "margin-left", "margin-top"].some(far) ||
    /scale[xy]?\(\s*0?\.?0*\s*[,)]|translate[xy3d]*\([^)]*-\d{3,}/.test(value("transform")) ||
    /^rect\((?:\s*[01](?:px)?[\s,]*){4}\)/.test(value("clip")) ||
    /inset\(\s*(?:[5-9]\d|100)%|(?:circle|ellipse)\(\s*0/.test(value("clip-path")) ||
    (/hidden|clip/.test(value("overflow") + value("overflow-x") + value("overflow-y")) &&
      ["width", "height", "max-width", "max-height"].some(thin));
}

/** What text inherits: whether its size or visibility hides it, and its colors where they are known. */
export interface Ink {
  readonly tiny: boolean;
  readonly invisible: boolean;
  readonly color: Color | undefined;
  readonly ground: Color | undefined;
  /** The ground is the one of a page without styles. */
  readonly assumed: boolean;
  /** A style sheet hides an element around the text. */
  readonly hidden: boolean;
}

type Color = readonly [number, number, number, number];

export function inherit(ink: Ink, look: Look): Ink {
  const size = look.get("font-size") ?? /(?:^|\s)(\d[\w.%]*)(?=\s|\/)/.exec(look.get("font") ?? "")?.[1];
  const visibility = look.get("visibility");
  const color = look.get("color");
  const ground = look.get("background-color") ?? look.get("background");
  const clipped = /text/.test(
    (look.get("background-clip") ?? "") + (look.get("-webkit-background-clip") ?? ""),
  );
  const picture = clipped || look.has("background-image") || /url\(|gradient/.test(ground ?? "");
  return {
    tiny: size === undefined ? ink.tiny : isTiny(size, ink.tiny),
    invisible: visibility === undefined || visibility === "inherit"
      ? ink.invisible
      : /hidden|collapse/.test(visibility),
    color: clipped ? undefined : color === undefined || color === "inherit" ? ink.color : colorOf(color),
    ground: picture ? undefined : ground === undefined ? ink.ground : groundOf(ground, ink.ground),
    assumed: ink.assumed && ground === undefined && !picture,
    hidden: ink.hidden,
  };
}

export function isVisible({ tiny, invisible, color, ground, hidden }: Ink): boolean {
  if (tiny || invisible || hidden) return false;
  if (color === undefined) return true;
  if (color[3] <= 0.05) return false;
  return ground === undefined || color.some((part, at) => at < 3 && Math.abs(part - (ground[at] ?? 0)) > 12);
}

function isTiny(size: string, inherited: boolean): boolean {
  const number = parseFloat(size);
  if (Number.isNaN(number)) return false;
  if (/[\d.](?:em|%)$/.test(size)) return inherited || number <= (size.endsWith("%") ? 10 : 0.1);
  return number <= (/rem$|v[wh]$/.test(size) ? 0.1 : 2);
}

function pixels(value: string): number {
  const number = parseFloat(value);
  if (/\d(?:em|rem)$/.test(value)) return number * 16;
  if (/\d(?:%|v[wh])$/.test(value)) return number * 5;
  return number;
}

const NAMED: Readonly<Record<string, string>> = { white: "#fff", black: "#000", transparent: "#0000" };

function groundOf(value: string, inherited: Color | undefined): Color | undefined {
  if (/^(?:none|inherit|initial|unset)$/.test(value)) return inherited;
  const color = colorOf(
    /#[\da-f]+|(?:rgb|hsl)a?\([^)]*\)|^[a-z]+$|\b(?:white|black)\b/.exec(value)?.[0] ?? value,
  );
  return color?.[3] === 0 ? inherited : color;
}

/** Hexadecimal, rgb() and the names above; undefined for all others. */
function colorOf(value: string): Color | undefined {
  const text = NAMED[value] ?? value;
  const digits = /^#([\da-f]{3,8})$/.exec(text)?.[1];
  if (digits !== undefined) {
    const long = digits.length <= 4 ? digits.replace(/./g, "$&$&") : digits;
    const part = (at: number) => parseInt(long.slice(at, at + 2) || "ff", 16);
    return [part(0), part(2), part(4), part(6) / 255];
  }
  const numbers = /^rgba?\(([^)]*)\)$/.exec(text)?.[1]?.split(/[\s,/]+/).filter((part) => part !== "");
  if (numbers === undefined || numbers.length < 3) return undefined;
  const [red = 0, green = 0, blue = 0, alpha = 1] = numbers.map((part, at) =>
    part.endsWith("%") ? parseFloat(part) * (at < 3 ? 2.55 : 0.01) : parseFloat(part)
  );
  return [red, green, blue, alpha].some(Number.isNaN) ? undefined : [red, green, blue, alpha];
}
