/**
 * Converts the events of a run to events of a task.
 *
 * - Consecutive answers of an agent in a turn form one artifact, separated by blank lines. Chunks are sent as they
 *   arrive. The complete answer follows and adds only the missing parts. The final answer closes the artifact
 *   (`lastChunk`). The last character of the chunks is held back, so that the closing event is not empty. If a callback
 *   has changed text that was already sent, the artifact is replaced.
 * - Thoughts are sent in a `working` status before their answer, as parts that are marked as thoughts. They are not
 *   sent in chunks, because each message stays in the task's history.
 * - Calls and their responses are sent in a `working` status, and only with `exposeToolCalls`.
 *
 * Several agents may answer in a turn. When another agent speaks, a new artifact begins, so that the order of the
 * answers is kept. Agents that run in parallel have different branches, and each has its own artifact. A translation
 * belongs to one execution.
 */
import { randomUUIDv7 } from 'node:crypto';
import { splitLast } from '../base/index.ts';
import {
  appendParts,
  ONE_TEXT_KEY,
  type Artifact,
  type Message,
  type Part as A2APart,
} from '../protocol/index.ts';
import type { ArtifactEvent, ExecutorEvent } from '../tasks/index.ts';
import { type ContentPart, contentText, type Event, isFinalResponse } from '../agent/index.ts';
import { FinalText } from '../agent/internal/index.ts';
import { type ConverterOptions, toA2AParts } from './converter.ts';

/** The metadata key of an answer's artifact. Its value is the name of the agent that gave the answer. */
const AUTHOR = 'parley.author';

export interface Translation {
  /** Returns the task's events for an event of the run. The event's artifact delta, questions and error are ignored. */
  translate(event: Event): ExecutorEvent[];
  /** Returns the events for the text that is still held back. It is called when no complete answer will follow. */
  flush(): ExecutorEvent[];
  /**
   * Returns the last answer. If agents ran in parallel, returns the last answer of each agent. Answers before a
   * question are omitted, because the client already has them.
   */
  finalText(): string;
}

/** The artifacts of a turn in its task. */
export interface TurnArtifacts {
  /** The id of the turn's first artifact. The ids of its further artifacts start with this id. */
  readonly artifactId: string;
  /** The artifacts that the task already has. After a question, a turn continues its artifact. */
  readonly known?: readonly Artifact[] | undefined;
}

/** The state of an agent's answers in this turn. */
interface Utterance {
  readonly key: string;
  readonly branch: string;
  /**
   * The artifact as it was before the current answer. Before the first answer, it has no parts, unless an earlier
   * execution has begun it.
   */
  readonly artifact: Artifact;
  /** Whether a part of the artifact was sent. */
  begun: boolean;
  /** The part of the current answer's text that was already sent. */
  text: string;
  /** The last character of the text so far, which was not sent yet. */
  held: string;
  thought: string;
  thoughtSent: number;
}

export function createTranslation(options: ConverterOptions, turn: TurnArtifacts): Translation {
  const utterances = new Map<string, Utterance>();
  const final = new FinalText();

  /** The agent that spoke last in each branch. */
  const last = new Map<string, string>();
  const own = (turn.known ?? []).filter(
    ({ artifactId: id }) => id.startsWith(`${turn.artifactId}-`) || id === turn.artifactId,
  );
  let count = own.length;

  /**
   * Returns the state of the agent's current answer. If the same agent spoke last, its artifact is continued.
   * Otherwise a new artifact begins.
   */
  function utteranceOf(event: Event): Utterance {
    const { author, branch = '' } = event;
    const key = `${author} ${branch}`;
    let utterance = utterances.get(key);
    const isOpen = utterance && utterance.text + utterance.held + utterance.thought !== '';
    if (utterance && (isOpen || !utterance.begun || last.get(branch) === key)) return utterance;
    const before = last.has(branch) ? undefined : own.at(-1);
    const known = before?.metadata?.[AUTHOR] === author ? before : undefined;
    const metadata = { [AUTHOR]: author, [ONE_TEXT_KEY]: true };
    const parts = [...(known?.parts ?? [])];
    const artifact = { artifactId: known?.artifactId ?? '', name: 'response', parts, metadata };
    const begun = known !== undefined;
    utterance = { key, branch, artifact, begun, text: '', held: '', thought: '', thoughtSent: 0 };
    utterances.set(key, utterance);
    return utterance;
  }

  /** Returns the event with the next parts of an artifact. With `isAll`, returns the event that replaces all parts. */
  function chunk(utterance: Utterance, parts: A2APart[], isAll = false): ArtifactEvent {
    const { artifact, key, branch } = utterance;
    const append = utterance.begun && !isAll;
    utterance.begun = true;
    last.set(branch, key);
    if (artifact.artifactId === '') {
      count++;
      artifact.artifactId = count === 1 ? turn.artifactId : `${turn.artifactId}-${count}`;
    }
    if (!append) return { kind: 'artifact-update', artifact: { ...artifact, parts } };
    return {
      kind: 'artifact-update',
      artifact: { artifactId: artifact.artifactId, parts },
      append,
    };
  }

  function piece(event: Event, parts: readonly ContentPart[]): ExecutorEvent[] {
    const utterance = utteranceOf(event);
    const events: ExecutorEvent[] = [];
    for (const part of parts) {
      if (part.kind === 'thought') utterance.thought += part.text;
      if (part.kind !== 'text' || part.text === '') continue;
      events.push(...thoughts(utterance, options));
      const { now, held } = splitLast(utterance.held + part.text);
      utterance.held = held;
      if (now !== '') events.push(said(utterance, now));
    }
    return events;
  }

  function said(utterance: Utterance, text: string): ExecutorEvent {
    const parts = toA2AParts([{ kind: 'text', text }]);
    const event = chunk(utterance, utterance.text === '' ? following(utterance, parts) : parts);
    utterance.text += text;
    return event;
  }

  function flush(): ExecutorEvent[] {
    const open = [...utterances.values()].filter(({ held }) => held !== '');
    return open.map((utterance) => {
      const { held } = utterance;
      utterance.held = '';
      return said(utterance, held);
    });
  }

  function whole(event: Event, parts: readonly ContentPart[]): ExecutorEvent[] {
    const utterance = utteranceOf(event);
    const thought = parts.flatMap((part) => (part.kind === 'thought' ? [part.text] : [])).join('');
    if (thought.startsWith(utterance.thought)) utterance.thought = thought;
    const events: ExecutorEvent[] = thoughts(utterance, options);
    const answer = parts.filter(isAnswer);
    const { text: sent, artifact } = utterance;
    const text = contentText({ role: 'model', parts: answer });
    const isKept = text.startsWith(sent);
    const said = following(utterance, toA2AParts(answer));
    appendParts(artifact, said);
    const lastChunk = isFinalResponse(event) && { lastChunk: true };
    if (!isKept) {
      // An artifact needs at least one part, even if a callback has removed its text.
      const all = artifact.parts.length > 0 ? [...artifact.parts] : [EMPTY];
      events.push({ ...chunk(utterance, all, true), ...lastChunk });
    } else {
      const rest = sent === '' ? said : restOf(answer, text.slice(sent.length));
      if (rest.length > 0) events.push({ ...chunk(utterance, rest), ...lastChunk });
    }
    Object.assign(utterance, { text: '', held: '', thought: '', thoughtSent: 0 });
    return events;
  }

  function translate(event: Event): ExecutorEvent[] {
    if (event.author === 'user' || !event.content) return [];
    final.note(event);
    const { parts } = event.content;
    if (event.partial === true) return piece(event, parts);
    // Tool responses may arrive between the chunks of an answer. They do not end the answer.
    const responds = parts.length > 0 && parts.every(({ kind }) => kind === 'function-response');
    const events = responds ? [] : whole(event, parts);
    const calls = parts.filter((part) => !isSaid(part));
    const shown = toA2AParts(calls, options);
    if (shown.length > 0) events.push(working(shown));
    return events;
  }

  return { translate, flush, finalText: () => final.text };
}

const EMPTY: A2APart = { kind: 'text', text: '' };

function isSaid({ kind }: ContentPart): boolean {
  return kind !== 'function-call' && kind !== 'function-response';
}

function isAnswer(part: ContentPart): boolean {
  return isSaid(part) && part.kind !== 'thought' && (part.kind !== 'text' || part.text !== '');
}

/** Returns the event for the thoughts that have not been sent yet. */
function thoughts(utterance: Utterance, options: ConverterOptions): ExecutorEvent[] {
  const text = utterance.thought.slice(utterance.thoughtSent);
  utterance.thoughtSent = utterance.thought.length;
  const parts = text === '' ? [] : toA2AParts([{ kind: 'thought', text }], options);
  return parts.length > 0 ? [working(parts)] : [];
}

/**
 * Returns the parts of an answer. If the artifact already has content and the answer begins with a text, a blank line
 * is added before this text.
 */
function following({ artifact }: Utterance, parts: A2APart[]): A2APart[] {
  const [first, ...others] = parts;
  if (first?.kind !== 'text' || artifact.parts.length === 0) return parts;
  return [{ ...first, text: `\n\n${first.text}` }, ...others];
}

/** Returns the parts of an answer that were not sent in chunks: the rest of its text, its files and its data. */
function restOf(answer: readonly ContentPart[], text: string): A2APart[] {
  const rest = answer.filter(({ kind }) => kind !== 'text');
  return toA2AParts(text === '' ? rest : [{ kind: 'text', text }, ...rest]);
}

function working(parts: A2APart[]): ExecutorEvent {
  const message: Message = { kind: 'message', messageId: randomUUIDv7(), role: 'agent', parts };
  return { kind: 'status-update', state: 'working', message };
}
