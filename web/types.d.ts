// The types that the modules name in their comments. tsc checks them (TestRealTypeScriptChecksThePages); nothing loads
// this file.

/** What the server says. */
type Answer = Record<"items" | "messages" | "runs" | "parts" | "questions" | "attachments" | "labels" | "depends_on" | "may" | "files" | "checks" | "days" | "denials" | "models" | "notes" | "arrays" | "objects" | "workers" | "tasks", any[]> & Record<string, any>;

/** Whether the server answers; out: the session does not count any more. */
type Connection = "live" | "away" | "out";

/**
 * A task in the list; queued is what its agent waits for before it begins, memory_bytes what the processes of its agent
 * take; undriven: no process works on it.
 */
type Card = Record<"id" | "title" | "status" | "updated_at", string> & Record<"priority" | "seq", number>
  & Partial<Record<"agent" | "run" | "waits_for" | "detail" | "until" | "branch" | "queued", string> & Record<"labels" | "depends_on", string[]> & Record<"starts" | "merged" | "undriven", boolean>>
  & { memory_bytes?: number, usage: { cost: number | null } };

/** Why a task needs a person. */
type Kind = "approve" | "answer" | "stopped" | "review" | "failed";

/** What waits for a person: a task, or one call of it. */
type Need = { card: Card, kind: Kind, call?: any };

/** What stands in an element. */
type Child = string | number | Node | null | undefined | false;

type Children = Child | Child[] | Child[][];

/** The listeners, attributes and properties of an element. */
type Properties = { [K in keyof HTMLElementEventMap as `on${K}`]?: (e: HTMLElementEventMap[K] & { target: any, currentTarget: any }) => any } & Record<string, any>;

/** A page shows itself until the signal says otherwise. */
type Page = (place: HTMLElement, signal: AbortSignal) => Promise<void>;
type PageOf = (place: HTMLElement, of: string, signal: AbortSignal) => Promise<void>;

/** A field of a form. */
type Field = { of: string, e: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement, label: string };

/** A row of the attempts of a task: its name, and what it has of one. */
type Row = [string, (r: any, i: number) => any];

/** A figure of each day: its name, what it is, and in words. */
type Plot = [string, (d: any) => number, (n: number) => string];

/** What the palette finds. */
type Entry = { name: string, about?: string, run: () => void };

type DiffLine = { kind: " " | "+" | "-", text: string, old: number, now: number };
type FileDiff = { name: string, from: string, added: number, removed: number, binary: boolean, note: string, blob?: string, hunks: { head: string, lines: DiffLine[] }[] };

/** How changes are shown: side: in two columns; blank: not those of white space alone; onLine: what the number of a line does. */
type Look = { side?: boolean, blank?: boolean, onLine?: (side: "old" | "new", line: number, text: string, row: HTMLTableRowElement) => void };

/** A comment of a review, as the API has it. */
type ReviewComment = { id?: string, file: string, side?: "old" | "new", line?: number, quoted?: string, text: string, became?: string, answer?: string };

/** A key that was pressed. */
type Pressed = KeyboardEvent & { target: any, currentTarget: any };
