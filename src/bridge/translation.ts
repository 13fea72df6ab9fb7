/**
 * Converts the events of a run to events of a task.
 *
 * - Each answer of a model is one artifact. Its pieces are sent as they arrive. The complete answer follows. It adds
 *   only the missing parts, and closes the artifact (`lastChunk`). If a callback has changed the answer, the complete
 *   answer replaces the pieces.
 * - Thoughts are sent in a `working` status before their answer, as parts that are marked as thoughts. They are not
 *   sent in pieces, because each message stays in the task's history.
 * - Calls and their responses are sent in a `working` status, and only with `exposeToolCalls`.
 *
 * Agents that run in parallel may answer at the same time. Their answers are distinguished by author and branch. A
 * translation belongs to one execution.
 */
import { randomUUIDv7 } from 'node:crypto';
import type { Message, Metadata, Part as A2APart } from '../protocol/index.ts';
import type { ArtifactEvent, ExecutorEvent } from '../tasks/index.ts';
import { type ContentPart, contentText, type Event, FinalText } from '../agent/index.ts';
import { type ConverterOptions, toA2AParts } from './converter.ts';

/** The metadata key of an answer's artifact. Its value is the name of the agent that gave the answer. */
const AUTHOR = 'parley.author';

export interface Translation {
  /** Returns the task's events for an event of the run. The event's artifact delta, questions and error are ignored. */
  translate(event: Event): ExecutorEvent[];
  /**
   * Returns the last answer. If agents ran in parallel, returns the last answer of each agent. Answers before a
   * question are omitted, because the client already has them.
   */
  finalText(): string;
}

/** An answer that is being sent. */
interface Utterance {
  readonly artifactId: string;
  /** The text that has been sent so far. */
  text: string;
  thought: string;
  thoughtSent: number;
}

export function createTranslation(options: ConverterOptions): Translation {
  const utterances = new Map<string, Utterance>();
  const final = new FinalText();

  function utteranceOf(event: Event): Utterance {
    const key = speaker(event);
    let utterance = utterances.get(key);
    if (!utterance) {
      utterance = { artifactId: `response-${event.id}`, text: '', thought: '', thoughtSent: 0 };
      utterances.set(key, utterance);
    }
    return utterance;
  }

  function piece(event: Event, parts: readonly ContentPart[]): ExecutorEvent[] {
    const utterance = utteranceOf(event);
    const events: ExecutorEvent[] = [];
    for (const part of parts) {
      if (part.kind === 'thought') utterance.thought += part.text;
      if (part.kind !== 'text' || part.text === '') continue;
      events.push(...thoughts(utterance, options));
      const chunk = toA2AParts([part]);
      events.push(artifact(utterance.artifactId, event, chunk, utterance.text !== ''));
      utterance.text += part.text;
    }
    return events;
  }

  function whole(event: Event, parts: readonly ContentPart[]): ExecutorEvent[] {
    const utterance = utteranceOf(event);
    utterances.delete(speaker(event));
    const thought = parts.flatMap((part) => (part.kind === 'thought' ? [part.text] : [])).join('');
    if (thought.startsWith(utterance.thought)) utterance.thought = thought;
    const events: ExecutorEvent[] = thoughts(utterance, options);
    const answer = parts.filter(isAnswer);
    const sent = utterance.text;
    const text = contentText({ role: 'model', parts: answer });
    if (sent === '' || !text.startsWith(sent)) {
      // An artifact needs at least one part, even if its text was removed.
      const all = answer.length > 0 ? toA2AParts(answer) : [EMPTY];
      if (answer.length > 0 || sent !== '') {
        events.push({ ...artifact(utterance.artifactId, event, all, false), lastChunk: true });
      }
      return events;
    }
    const rest: ContentPart[] = answer.filter(({ kind }) => kind !== 'text');
    if (text.length > sent.length) rest.unshift({ kind: 'text', text: text.slice(sent.length) });
    const last = rest.length > 0 ? toA2AParts(rest) : [EMPTY];
    events.push({ ...artifact(utterance.artifactId, event, last, true), lastChunk: true });
    return events;
  }

  function translate(event: Event): ExecutorEvent[] {
    if (event.author === 'user' || !event.content) return [];
    final.note(event);
    const { parts } = event.content;
    if (event.partial === true) return piece(event, parts);
    // Tool responses may arrive between the pieces of an answer. They do not end the answer.
    const responds = parts.length > 0 && parts.every(({ kind }) => kind === 'function-response');
    const events = responds ? [] : whole(event, parts);
    const calls = parts.filter((part) => !isSaid(part));
    const shown = toA2AParts(calls, options);
    if (shown.length > 0) events.push(working(shown));
    return events;
  }

  return { translate, finalText: () => final.text };
}

const EMPTY: A2APart = { kind: 'text', text: '' };

function speaker({ author, branch = '' }: Event): string {
  return `${author} ${branch}`;
}

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

function artifact(
  artifactId: string,
  { author }: Event,
  parts: A2APart[],
  append: boolean,
): ArtifactEvent {
  if (append) return { kind: 'artifact-update', artifact: { artifactId, parts }, append };
  const metadata: Metadata = { [AUTHOR]: author };
  return { kind: 'artifact-update', artifact: { artifactId, name: 'response', parts, metadata } };
}

function working(parts: A2APart[]): ExecutorEvent {
  const message: Message = { kind: 'message', messageId: randomUUIDv7(), role: 'agent', parts };
  return { kind: 'status-update', state: 'working', message };
}
