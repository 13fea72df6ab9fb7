/**
 * What a remote agent has said so far, put together from the pieces of its stream.
 *
 * Artifacts are its answer, in the order in which they began; what a status says along the way is a thought, unless
 * nothing else is said; what the last status says is added, unless it repeats the artifacts. Each piece is given out as
 * it comes, and all of them together are the whole, as far as the remote does not take back what it said.
 */
import type { Artifact, Part as A2APart } from '../../protocol/index.ts';
import { fromA2AParts, type ReceivedPart } from '../converter.ts';
import { RemoteAgentError, type RemoteTaskGuard } from '../../client/index.ts';
import type { SaidLength } from './note.ts';

interface Section {
  /** What was said of the artifact before this turn. */
  base: SaidLength;
  parts: ReceivedPart[];
  /** Text of it was given out. */
  spoken: boolean;
}

const BREAK = '\n\n';

export class RemoteContent {
  readonly #guard: RemoteTaskGuard;
  readonly #artifacts = new Map<string, Section>();
  readonly #continues: boolean;
  #progress: ReceivedPart[] = [];
  #closing: ReceivedPart[] = [];
  /** Text was given out, and its last line is not ended. */
  #open = false;

  /** `said`: for a task that continues, the length of each artifact that this session has. */
  constructor(guard: RemoteTaskGuard, said: Readonly<Record<string, SaidLength>> | undefined) {
    this.#guard = guard;
    this.#continues = said !== undefined;
    for (const [id, base] of Object.entries(said ?? {})) {
      this.#artifacts.set(id, { base, parts: [], spoken: base[0] > 0 });
    }
  }

  /** A chunk of an artifact, or all of it. Returns what is new. */
  artifact({ artifactId, parts }: Artifact, append: boolean): ReceivedPart[] {
    const known = this.#artifacts.get(artifactId);
    if (append && !known && !this.#continues) {
      throw new RemoteAgentError('remote-invalid', 'it added to an artifact that it never began');
    }
    const section = known ?? this.#begin(artifactId);
    const received = this.#receive(parts);
    if (append) return this.#add(section, received);
    // A new beginning: what was said of it before no longer counts.
    section.base = [0, 0];
    return this.#replace(section, received);
  }

  /** The artifact as it stands, from a whole task. Returns what is new. */
  snapshot({ artifactId, parts }: Artifact): ReceivedPart[] {
    const section = this.#artifacts.get(artifactId) ?? this.#begin(artifactId);
    return this.#replace(section, without(this.#receive(parts, false), section.base));
  }

  /** What a status says while the work goes on. */
  progress(parts: readonly A2APart[]): ReceivedPart[] {
    const said = this.#receive(parts);
    this.#progress.push(...said);
    return said.map(asThought);
  }

  /** What the last status, or the one message of an answer without a task, says. Returns what is new. */
  closing(parts: readonly A2APart[]): ReceivedPart[] {
    const said = this.#receive(parts);
    const text = textIn(said);
    const rest = this.#repeats(text) ? said.filter((part) => part.kind !== 'text') : said;
    this.#closing = rest;
    return this.#show(rest, { spoken: false });
  }

  /** Everything of this turn. */
  whole(): ReceivedPart[] {
    const sections = [...this.#artifacts.values()].map(({ parts }) => parts);
    sections.push(this.#closing);
    const spoken = sections.some((parts) => parts.length > 0);
    const all: ReceivedPart[] = spoken ? this.#progress.map(asThought) : [...this.#progress];
    let open = false;
    for (const section of spoken ? sections : []) {
      all.push(...separated(section, open));
      open = leavesOpen(section, open);
    }
    return all;
  }

  /** What this session has of the artifacts now, for when the task goes on. */
  said(): Record<string, SaidLength> {
    const entries = [...this.#artifacts].map(([id, { base, parts }]): [string, SaidLength] => {
      const [text, others] = measure(parts);
      return [id, [base[0] + text, base[1] + others]];
    });
    return Object.fromEntries(entries);
  }

  #begin(id: string): Section {
    this.#guard.id(id);
    if (id === '__proto__') {
      throw new RemoteAgentError('remote-invalid', 'it sent an artifact with an unusable id');
    }
    this.#guard.artifacts(this.#artifacts.size + 1);
    const section: Section = { base: [0, 0], parts: [], spoken: false };
    this.#artifacts.set(id, section);
    return section;
  }

  #add(section: Section, received: readonly ReceivedPart[]): ReceivedPart[] {
    for (const part of received) append(section.parts, part);
    return this.#show(received, section);
  }

  #replace(section: Section, received: readonly ReceivedPart[]): ReceivedPart[] {
    const before = section.parts;
    const after: ReceivedPart[] = [];
    for (const part of received) append(after, part);
    section.parts = after;
    const added = partsAfter(before, after);
    for (const part of added) {
      this.#guard.content('text' in part ? part.text.length : JSON.stringify(part).length);
    }
    return this.#show(added, section);
  }

  /** A snapshot repeats parts that were counted when they arrived. */
  #receive(parts: readonly A2APart[], isNew = true): ReceivedPart[] {
    this.#guard.parts(parts, isNew);
    return fromA2AParts(parts).filter((part) => !('text' in part) || part.text !== '');
  }

  #show(parts: readonly ReceivedPart[], from: Pick<Section, 'spoken'>): ReceivedPart[] {
    const shown = from.spoken ? [...parts] : separated(parts, this.#open);
    from.spoken ||= parts.some(({ kind }) => kind === 'text');
    this.#open = leavesOpen(parts, this.#open);
    return shown;
  }

  /** Whether this text is what the artifacts, or some of them, said already. */
  #repeats(text: string): boolean {
    if (text === '') return false;
    const sections = [...this.#artifacts.values()];
    if (
      isMadeOf(
        text,
        sections.map(({ parts }) => textIn(parts)),
      )
    )
      return true;
    // Not every remote keeps thoughts apart when it sums up.
    const withThoughts = sections.map(({ parts }) => allText(parts));
    if (isMadeOf(text, withThoughts)) return true;
    // Or it sums up earlier turns as well, whose words are not at hand.
    return sections.some(({ base }, at) => {
      const said = withThoughts[at]!;
      return base[0] > 0 && text.length === base[0] + said.length && text.endsWith(said);
    });
  }
}

/**
 * Whether a text has nothing but some of these in it, in whatever order, with blanks between them. They are only looked
 * for where the last one ended: to search all of the text for one can take the square of its length.
 */
function isMadeOf(text: string, pieces: readonly string[]): boolean {
  const whole = squeeze(text);
  const left = pieces
    .map(squeeze)
    .filter((piece) => piece !== '')
    .toSorted((a, b) => b.length - a.length);
  for (let at = 0; at < whole.length;) {
    const next = left.findIndex((piece) => whole.startsWith(piece, at));
    const [piece] = next < 0 ? [] : left.splice(next, 1);
    if (piece === undefined) return false;
    at += piece.length;
  }
  return true;
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, '');
}

function asThought(part: ReceivedPart): ReceivedPart {
  return part.kind === 'text' ? { kind: 'thought', text: part.text } : part;
}

function textIn(parts: readonly ReceivedPart[]): string {
  let text = '';
  for (const part of parts) if (part.kind === 'text') text += part.text;
  return text;
}

function allText(parts: readonly ReceivedPart[]): string {
  return parts.map((part) => ('text' in part ? part.text : '')).join('');
}

/** Adds a part; a text goes on with the text before it. */
function append(parts: ReceivedPart[], part: ReceivedPart): void {
  const last = parts.at(-1);
  if ((part.kind === 'text' || part.kind === 'thought') && last?.kind === part.kind) {
    parts[parts.length - 1] = { kind: part.kind, text: last.text + part.text };
  } else {
    parts.push(part);
  }
}

/** With a blank line before its text, if there is text without an end before it. */
function separated(parts: readonly ReceivedPart[], open: boolean): ReceivedPart[] {
  const first = open ? parts.findIndex((part) => part.kind === 'text') : -1;
  return parts.map((part, at) =>
    at === first && part.kind === 'text' ? { kind: 'text', text: BREAK + part.text } : part,
  );
}

function leavesOpen(parts: readonly ReceivedPart[], open: boolean): boolean {
  const last = parts.findLast((part) => part.kind === 'text');
  return last === undefined ? open : last.kind === 'text' && !last.text.endsWith('\n');
}

function measure(parts: readonly ReceivedPart[]): SaidLength {
  let text = 0;
  let others = 0;
  for (const part of parts) {
    if ('text' in part) text += part.text.length;
    else others++;
  }
  return [text, others];
}

/** The parts behind what was said before. */
function without(parts: readonly ReceivedPart[], [text, others]: SaidLength): ReceivedPart[] {
  return parts.flatMap((part): ReceivedPart[] => {
    if (!('text' in part)) return others-- > 0 ? [] : [part];
    const skipped = Math.min(text, part.text.length);
    text -= skipped;
    return skipped === part.text.length ? [] : [{ ...part, text: part.text.slice(skipped) }];
  });
}

/** What `after` adds to `before`; all of it, where it is no continuation. */
function partsAfter(
  before: readonly ReceivedPart[],
  after: readonly ReceivedPart[],
): ReceivedPart[] {
  const added: ReceivedPart[] = [];
  for (const [at, part] of after.entries()) {
    const old = before[at];
    if (old === undefined) {
      added.push(part);
    } else if ('text' in part && 'text' in old && part.kind === old.kind) {
      if (!part.text.startsWith(old.text)) return [...after];
      if (part.text.length > old.text.length) {
        // Only the last of what was known can have grown.
        if (at < before.length - 1) return [...after];
        added.push({ kind: part.kind, text: part.text.slice(old.text.length) });
      }
    } else if (JSON.stringify(part) !== JSON.stringify(old)) {
      return [...after];
    }
  }
  return added;
}
