/**
 * Makes the message to a remote agent from everything in the session that the agent has not received yet.
 *
 * The user's content is sent as it is, except that a blank line may be added before a text. Turns of other agents are
 * sent as context in the form "[name] said: …", and their parts are marked in the metadata. Tool calls, their
 * responses, thoughts and the remote agent's own turns are not sent. Instructions are not sent either, because they are
 * not events.
 */
import { createHash } from 'node:crypto';
import type { RunContext, ContentPart, Event } from '../../agent/index.ts';
import type { Part as A2APart } from '../../protocol/index.ts';
import { toA2AParts } from '../converter.ts';
import { noteOf } from './note.ts';

/** The metadata key of a part that is not from the user. Its value contains the author. */
const CONTEXT_MARK = 'parley.context';

/**
 * Maximum length of the conversation that is sent, in characters of JSON. If the conversation is longer, only its end
 * is sent. The last turn is always sent.
 */
const MAX_CONTEXT_LENGTH = 2 ** 20;
const MAX_CONTEXT_PARTS = 500;

const HIDDEN = { exposeThoughts: false, exposeToolCalls: false } as const;

export interface Unseen {
  readonly parts: A2APart[];
  /** The id of the last session event that these parts cover. */
  readonly seen: string | undefined;
}

/**
 * Returns the parts of `events` that `agent` has not received. `events` are the events that the agent's branch sees.
 */
export function unseen(events: readonly Event[], agent: string): Unseen {
  const received = receivedBy(events, agent);
  const turns: A2APart[][] = [];
  let parts = 0;
  let length = 0;
  for (let at = events.length - 1; at >= 0; at--) {
    const event = events[at]!;
    if (event.author === agent || event.partial === true || received(event, at)) continue;
    const turn = partsOf(event);
    if (turn.length === 0) continue;
    parts += turn.length;
    length += JSON.stringify(turn).length;
    // The last turn is always included.
    if (turns.length > 0 && (parts > MAX_CONTEXT_PARTS || length > MAX_CONTEXT_LENGTH)) {
      turns.push([contextText('(Earlier parts of the conversation are omitted.)', 'session')]);
      break;
    }
    turns.push(turn);
  }
  return { parts: apart(turns.toReversed()), seen: events.at(-1)?.id };
}

/**
 * Joins the turns. A blank line is added before a text that begins a turn, and before a text that is sent as context,
 * because receivers often join the texts of a message.
 */
function apart(turns: readonly A2APart[][]): A2APart[] {
  const parts: A2APart[] = [];
  for (const turn of turns) {
    for (const [at, part] of turn.entries()) {
      const begins = at === 0 || part.metadata?.[CONTEXT_MARK] !== undefined;
      const follows = begins && parts.length > 0 && part.kind === 'text';
      parts.push(follows ? { ...part, text: `\n\n${part.text}` } : part);
    }
  }
  return parts;
}

/**
 * Returns a function that checks whether the agent has received an event. An event of the agent may have a note
 * (note.ts) with the id of the last event that the agent had received. The note applies to the events of the same
 * branch, of enclosing branches and of nested branches. Events of parallel branches do not count as received.
 */
function receivedBy(
  events: readonly Event[],
  agent: string,
): (event: Event, at: number) => boolean {
  const positions = new Map(events.map(({ id }, at) => [id, at]));
  const upTo = new Map<string | undefined, number>();
  for (const event of events) {
    const seen = event.author === agent ? noteOf(event)?.seen : undefined;
    const at = seen === undefined ? undefined : positions.get(seen);
    if (at !== undefined) upTo.set(event.branch, Math.max(at, upTo.get(event.branch) ?? -1));
  }
  return (event, at) => {
    for (const [branch, last] of upTo) {
      if (at <= last && sees(branch, event.branch)) return true;
    }
    return false;
  };
}

/** Whether an agent in `branch` sees the events of `other`: the branches are the same, or one encloses the other. */
function sees(branch: string | undefined, other: string | undefined): boolean {
  return isWithin(branch, other) || isWithin(other, branch);
}

function isWithin(branch: string | undefined, outer: string | undefined): boolean {
  return outer === undefined || branch === outer || branch?.startsWith(`${outer}.`) === true;
}

function partsOf(event: Event): A2APart[] {
  const parts =
    event.content?.parts.filter((part) => part.kind !== 'text' || part.text !== '') ?? [];
  // Messages that the runner stores in the user's name, such as the note about a cancellation, are sent too.
  if (event.author === 'user') return toA2AParts(parts, HIDDEN);
  return event.error ? [] : parts.flatMap((part) => contextOf(part, event.author));
}

function contextOf(part: ContentPart, author: string): A2APart[] {
  if (part.kind === 'text') return [contextText(`[${author}] said: ${part.text}`, author)];
  const metadata = { [CONTEXT_MARK]: { author } };
  return toA2AParts([part], HIDDEN).map((each) => Object.assign(each, { metadata }));
}

function contextText(text: string, author: string): A2APart {
  return { kind: 'text', text, metadata: { [CONTEXT_MARK]: { author } } };
}

/**
 * Returns the id of a message. The same message at the same point of a run has the same id in every process. After a
 * crash, a message may be sent again. A server that detects duplicates by id, such as a Parley server, then ignores the
 * second message.
 */
export function messageIdFor(
  { session: { app, user, id }, runId, path }: RunContext,
  after: string | undefined,
  parts: readonly A2APart[],
): string {
  const said = JSON.stringify([app, user, id, runId, path, after ?? null, parts]);
  const hex = createHash('sha256').update(said).digest('hex').slice(0, 32);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
