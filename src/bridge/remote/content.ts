/**
 * Assembles the content of a remote agent's turn from its stream.
 *
 * The artifacts are the answer, in the order in which they started. If the turn ends without a question or a failure,
 * the message of the last status is added to the answer. The text of this message is left out if it repeats the
 * artifacts. The messages of earlier statuses are thoughts. If there is no other content, these messages are the
 * answer.
 *
 * Each chunk is returned when it arrives. The chunks together are the complete content, with two exceptions. The
 * remote agent may replace an artifact, and a message that was shown as a thought may become the answer. The order of
 * the chunks may differ from the complete content, because `whole` returns the thoughts first, and then one artifact
 * after another.
 */
import { contentText } from '../../agent/index.ts';
import type { Artifact, Part as A2APart } from '../../protocol/index.ts';
import { fromA2AParts, type ReceivedPart } from '../converter.ts';
import { RemoteAgentError, type RemoteTaskGuard } from '../../client/index.ts';
import type { SaidLength } from './note.ts';

interface Section {
  /** How much of the artifact was in this session before this turn. */
  base: SaidLength;
  parts: ReceivedPart[];
  /** Whether a text of the artifact was already returned. */
  hasText: boolean;
}

const BREAK = '\n\n';

export class RemoteContent {
  readonly #guard: RemoteTaskGuard;
  readonly #artifacts = new Map<string, Section>();
  #progress: ReceivedPart[] = [];
  readonly #spoken: Section = { base: [0, 0], parts: [], hasText: false };
  #closing: ReceivedPart[] = [];
  /** Whether the text so far ends in the middle of a line. */
  #open = false;

  /**
   * `said` is how much of each artifact is already in this session, or undefined if the task is not continued.
   */
  constructor(guard: RemoteTaskGuard, said: Readonly<Record<string, SaidLength>> | undefined) {
    this.#guard = guard;
    for (const [id, base] of Object.entries(said ?? {})) {
      this.#artifacts.set(id, { base, parts: [], hasText: base[0] > 0 });
    }
  }

  /** Adds an artifact or a chunk of an artifact. Returns the new parts. */
  artifact({ artifactId, parts }: Artifact, append: boolean): ReceivedPart[] {
    // ADK's server sets `append` even for the first chunk of an artifact, so an unknown artifact is not an error.
    const section = this.#artifacts.get(artifactId) ?? this.#begin(artifactId);
    const received = this.#receive(parts);
    if (append) return this.#add(section, received);
    // The artifact is replaced, including its content from earlier turns.
    section.base = [0, 0];
    return this.#replace(section, received, true);
  }

  /** Adds an artifact from a snapshot of the task. Returns the new parts. */
  snapshot({ artifactId, parts }: Artifact): ReceivedPart[] {
    const section = this.#artifacts.get(artifactId) ?? this.#begin(artifactId);
    return this.#replace(section, without(this.#receive(parts, false), section.base), false);
  }

  /** Adds the message of a status that is not the last one. Returns the new parts. */
  progress(parts: readonly A2APart[]): ReceivedPart[] {
    const said = this.#receive(parts);
    this.#progress.push(...said);
    return said.map(asThought);
  }

  /** Adds a thought and returns it. */
  thought(text: string): ReceivedPart[] {
    const thoughts: ReceivedPart[] = this.#receive([{ kind: 'text', text }]).map(asThought);
    this.#progress.push(...thoughts);
    return thoughts;
  }

  /**
   * Adds text of the answer that is not part of an artifact, as gemini-cli's server sends it. Returns the new parts.
   */
  spoken(parts: readonly A2APart[]): ReceivedPart[] {
    return this.#add(this.#spoken, this.#receive(parts));
  }

  /** Adds the message of the last status, or the message that is the whole answer. Returns the new parts. */
  closing(parts: readonly A2APart[]): ReceivedPart[] {
    const said = this.#receive(parts);
    const text = textIn(said);
    const rest = this.#repeats(text) ? said.filter((part) => part.kind !== 'text') : said;
    this.#closing = rest;
    return this.#show(rest, { hasText: false });
  }

  /** Returns all content of this turn. */
  whole(): ReceivedPart[] {
    const sections = [...this.#artifacts.values(), this.#spoken].map(({ parts }) => parts);
    sections.push(this.#closing);
    const hasAnswer = sections.some((parts) => parts.length > 0);
    const all: ReceivedPart[] = hasAnswer ? this.#progress.map(asThought) : [...this.#progress];
    let open = false;
    for (const section of hasAnswer ? sections : []) {
      all.push(...separated(section, open));
      open = leavesOpen(section, open);
    }
    return all;
  }

  /** Returns the current length of each artifact, for a later turn of the task. */
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
      const message = 'it sent an artifact with an id that is not allowed';
      throw new RemoteAgentError('remote-invalid', message);
    }
    this.#guard.artifacts(this.#artifacts.size + 1);
    const section: Section = { base: [0, 0], parts: [], hasText: false };
    this.#artifacts.set(id, section);
    return section;
  }

  #add(section: Section, received: readonly ReceivedPart[]): ReceivedPart[] {
    for (const part of received) append(section.parts, part);
    return this.#show(received, section);
  }

  #replace(
    section: Section,
    received: readonly ReceivedPart[],
    isCounted: boolean,
  ): ReceivedPart[] {
    const before = section.parts;
    const after: ReceivedPart[] = [];
    for (const part of received) append(after, part);
    section.parts = after;
    const added = partsAfter(before, after);
    for (const part of isCounted ? [] : added) {
      this.#guard.content('text' in part ? part.text.length : JSON.stringify(part).length);
    }
    return this.#show(added, section);
  }

  /**
   * Checks the limits and converts received parts. `isNew` is false for a snapshot, because most of its parts were
   * counted when they arrived. `#replace` then counts the parts that the snapshot adds.
   */
  #receive(parts: readonly A2APart[], isNew = true): ReceivedPart[] {
    this.#guard.parts(parts, isNew);
    return fromA2AParts(parts).filter((part) => !('text' in part) || part.text !== '');
  }

  #show(parts: readonly ReceivedPart[], from: Pick<Section, 'hasText'>): ReceivedPart[] {
    const shown = from.hasText ? [...parts] : separated(parts, this.#open);
    from.hasText ||= parts.some(({ kind }) => kind === 'text');
    this.#open = leavesOpen(parts, this.#open);
    return shown;
  }

  /** Returns whether this text repeats the text of some artifacts. */
  #repeats(text: string): boolean {
    if (text === '') return false;
    const sections = [...this.#artifacts.values()];
    const texts = sections.map(({ parts }) => textIn(parts));
    if (isMadeOf(text, texts)) return true;
    // Some remote agents include their thoughts in the last message.
    const withThoughts = sections.map(({ parts }) => allText(parts));
    if (isMadeOf(text, withThoughts)) return true;
    // Some remote agents also include the text of earlier turns. Only the length of this text is known here, so the
    // text matches if it has the expected length and ends with the text of this turn.
    return sections.some(({ base }, at) => {
      const said = withThoughts[at]!;
      return base[0] > 0 && text.length === base[0] + said.length && text.endsWith(said);
    });
  }
}

/**
 * Returns whether the text consists only of some of the pieces, in any order, ignoring white space. Each piece is
 * compared only where the previous piece ends. Searching the whole text for each piece could take quadratic time. If
 * several pieces fit, only the longest one is tried, so the result may be false although another choice would fit.
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
  return contentText({ role: 'model', parts });
}

function allText(parts: readonly ReceivedPart[]): string {
  return parts.map((part) => ('text' in part ? part.text : '')).join('');
}

/** Adds a part. Joins consecutive texts. */
function append(parts: ReceivedPart[], part: ReceivedPart): void {
  const last = parts.at(-1);
  if ((part.kind === 'text' || part.kind === 'thought') && last?.kind === part.kind) {
    parts[parts.length - 1] = { kind: part.kind, text: last.text + part.text };
  } else {
    parts.push(part);
  }
}

/**
 * Returns the parts. If `open` is true, the previous text ends in the middle of a line, and a blank line is inserted
 * before the first text.
 */
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

/** Removes content from the start of the parts: `text` characters of text, and `others` other parts. */
function without(parts: readonly ReceivedPart[], [text, others]: SaidLength): ReceivedPart[] {
  return parts.flatMap((part): ReceivedPart[] => {
    if (!('text' in part)) return others-- > 0 ? [] : [part];
    const skipped = Math.min(text, part.text.length);
    text -= skipped;
    return skipped === part.text.length ? [] : [{ ...part, text: part.text.slice(skipped) }];
  });
}

/**
 * Returns the parts that `after` adds to `before`. Returns all of `after` if it does not continue `before`. Returns
 * nothing if `after` only lacks the last parts of `before`.
 */
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
        // Only the last known part may have become longer.
        if (at < before.length - 1) return [...after];
        added.push({ kind: part.kind, text: part.text.slice(old.text.length) });
      }
    } else if (JSON.stringify(part) !== JSON.stringify(old)) {
      return [...after];
    }
  }
  return added;
}
