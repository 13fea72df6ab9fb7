/**
 * What a remote agent is told: what has been said in the session and it has not heard yet.
 *
 * The user's words go as they are. Other agents' turns go as what they are, context: "[name] said: …", marked. Calls,
 * their responses, thoughts and what the remote said itself stay here, and so do instructions, which are no events.
 */
import { createHash } from 'node:crypto';
import type { RunContext, ContentPart, Event } from '../../agent/index.ts';
import type { Part as A2APart } from '../../protocol/index.ts';
import { toA2AParts } from '../converter.ts';
import { noteOf } from './note.ts';

/** In the metadata of a part that the user did not say: who did. */
const CONTEXT_MARK = 'parley.context';

/** Of a long conversation that the remote has missed it gets the end. */
const MAX_CONTEXT_LENGTH = 2 ** 20;
const MAX_CONTEXT_PARTS = 500;

const HIDDEN = { exposeThoughts: false, exposeToolCalls: false } as const;

export interface Unseen {
  readonly parts: A2APart[];
  /** The last event of the session, which the remote will have heard of when it gets these parts. */
  readonly seen: string | undefined;
}

/** What `agent` has not heard of these events, which are those that its branch sees. */
export function unseen(events: readonly Event[], agent: string): Unseen {
  const heard = whatWasHeard(events, agent);
  const turns: A2APart[][] = [];
  let parts = 0;
  let length = 0;
  for (let at = events.length - 1; at >= 0; at--) {
    const event = events[at]!;
    if (event.author === agent || event.partial === true || heard(event, at)) continue;
    const turn = partsOf(event);
    if (turn.length === 0) continue;
    parts += turn.length;
    length += JSON.stringify(turn).length;
    // What was said last is never left out.
    if (turns.length > 0 && (parts > MAX_CONTEXT_PARTS || length > MAX_CONTEXT_LENGTH)) {
      turns.push([contextText('(Earlier parts of the conversation are left out.)', 'session')]);
      break;
    }
    turns.push(turn);
  }
  return { parts: apart(turns.toReversed()), seen: events.at(-1)?.id };
}

/** Each turn on lines of its own: those who get a message often take all of its texts for one. */
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
 * Whether the agent was told of an event. Each of its notes says up to where it had been told then, and its event's
 * branch what it could see: what others said beside it, in another branch, it has not heard.
 */
function whatWasHeard(
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

function sees(branch: string | undefined, other: string | undefined): boolean {
  if (other === undefined) return true;
  return branch !== undefined && (branch === other || branch.startsWith(`${other}.`));
}

function partsOf(event: Event): A2APart[] {
  const parts =
    event.content?.parts.filter((part) => part.kind !== 'text' || part.text !== '') ?? [];
  // Also when he says that he has canceled something.
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
 * The same message at the same point of a run always gets the same id, in whatever process: servers that know messages
 * by their id (Parley's do) then take one that is sent again, after a crash of ours, for the one that they have.
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
