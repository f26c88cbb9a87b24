/** The place where the tools about skills, memory and earlier sessions get their data from. */

/** The instructions of a skill as the model reads them. */
export interface ActivatedSkill {
  readonly content: string;
  readonly summary: string;
}

export interface SkillPort {
  /** A string says why not. */
  activate(name: string, args?: string): Promise<ActivatedSkill | string>;
}

export type MemoryScope = "project" | "global";
export type MemoryKind = "user" | "project" | "reference" | "feedback";

/** A saved fact without its text. */
export interface MemoryEntry {
  readonly name: string;
  readonly description: string;
  readonly scope: MemoryScope;
  readonly kind: MemoryKind;
  readonly pinned: boolean;
  /** Day of the last change. */
  readonly updated: string;
}

export interface MemoryHit extends MemoryEntry {
  readonly snippet: string;
}

export interface MemoryFact extends MemoryEntry {
  readonly text: string;
}

export interface NewMemory {
  readonly name: string;
  readonly description: string;
  readonly text: string;
  readonly scope?: MemoryScope;
  readonly kind?: MemoryKind;
  readonly pinned?: boolean;
}

export interface SavedMemory {
  readonly name: string;
  readonly path: string;
  /** A fact of this name was there before. */
  readonly updated: boolean;
}

/** Facts that outlive a session. Methods reject with a ReasonixError the model can act on. */
export interface MemoryPort {
  search(query: string, limit?: number): Promise<readonly MemoryHit[]>;
  list(): Promise<readonly MemoryEntry[]>;
  read(name: string, scope?: MemoryScope): Promise<MemoryFact>;
  /** Saves a fact, or changes the one of this name. */
  remember(fact: NewMemory): Promise<SavedMemory>;
  /** Takes a fact out of use; its file is kept in an archive. */
  forget(name: string, scope?: MemoryScope): Promise<{ readonly archived: string }>;
  /** Forgotten facts, the newest first; only people see them. */
  archive(): Promise<readonly (MemoryFact & { readonly archivedOn: string })[]>;
}

export interface HistoryHit {
  readonly session: string;
  readonly title: string;
  readonly seq: number;
  readonly role: string;
  readonly time: string;
  readonly snippet: string;
}

export interface HistoryPiece {
  readonly seq: number;
  readonly role: string;
  readonly time: string;
  readonly text: string;
  /** Characters left out at the end. */
  readonly cut: number;
}

export interface HistorySearch {
  readonly query: string;
  readonly scope: "project" | "global";
  readonly limit?: number;
}

export interface HistoryAround {
  readonly session: string;
  readonly seq: number;
  readonly before?: number;
  readonly after?: number;
}

/**
 * The texts of this and earlier sessions. Methods reject with a ReasonixError the model can act
 * on.
 */
export interface HistoryPort {
  search(query: HistorySearch): Promise<{ readonly hits: readonly HistoryHit[]; readonly guidance?: string }>;
  around(place: HistoryAround): Promise<readonly HistoryPiece[]>;
}
