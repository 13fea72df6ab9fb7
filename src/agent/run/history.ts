/**
 * The conversation as an agent's model gets it, made from the session's events.
 *
 * The agent's own turns are the model's; what other agents said and did is told as text, as something the model heard.
 * Every call has its response right behind it, in the order of the calls: a call without one (of a run that waits or
 * broke off) is left out, and so is a response without a call. What a summary stands for is left out too, and what is no
 * part of the conversation (conversation.ts).
 */
import { hash } from 'node:crypto';
import {
  functionCalls,
  type Content,
  type FunctionCallPart,
  type FunctionResponsePart,
  type ContentPart,
} from '../content.ts';
import { conversationOf } from './conversation.ts';
import type { Event } from '../event.ts';
import { isVisible } from './run-context.ts';

export interface HistoryOptions {
  readonly agent: string;
  readonly runId: string;
  readonly branch: string | undefined;
  /** `none`: only what this turn is about. */
  readonly include: 'default' | 'none';
  /** What the vendor put into a part goes back to the same model only. */
  readonly model: string;
  /** Calls that have no response yet stay in: for those who look, not for a model. */
  readonly openCalls?: boolean;
}

/** Longer arguments and responses of other agents' calls are cut. */
const MAX_TOLD = 2000;
/** Not worth telling. */
export const TRANSFER_TOOL = 'transfer_to_agent';

export function historyOf(events: readonly Event[], options: HistoryOptions): Content[] {
  const { summary, events: kept } =
    options.include === 'none'
      ? { summary: undefined, events: ownTurn(events, options) }
      : afterSummary(events, options);
  const responses = new Map<string, FunctionResponsePart>();
  for (const event of kept) {
    if (event.author !== options.agent) continue;
    for (const part of event.content?.parts ?? []) {
      if (part.kind !== 'function-response') continue;
      const key = callKey(event, part);
      if (!responses.has(key)) responses.set(key, part);
    }
  }
  const idOf = uniqueIds(kept, options);
  const history: Draft[] = [];
  if (summary !== undefined) {
    add(history, 'user', [
      { kind: 'text', text: `Summary of the conversation so far:\n${summary}` },
    ]);
  }
  for (const event of kept) {
    if (!event.content) continue;
    if (event.author === 'user') add(history, 'user', event.content.parts);
    else if (event.author !== options.agent) add(history, 'user', told(event));
    else if (event.content.role === 'model') addOwn(history, event, { responses, idOf }, options);
  }
  return history;
}

interface Draft extends Content {
  readonly parts: ContentPart[];
}

/** Neighbours of one role are one content. */
function add(history: Draft[], role: Content['role'], parts: readonly ContentPart[]): void {
  if (parts.length === 0) return;
  const last = history.at(-1);
  if (last?.role === role) last.parts.push(...parts);
  else history.push({ role, parts: [...parts] });
}

interface Calls {
  /** By their calls' keys. */
  readonly responses: ReadonlyMap<string, FunctionResponsePart>;
  readonly idOf: (event: Event, call: FunctionCallPart) => string;
}

function addOwn(
  history: Draft[],
  event: Event,
  { responses, idOf }: Calls,
  options: HistoryOptions,
): void {
  const sameModel = event.metadata?.['model'] === options.model;
  const said: ContentPart[] = [];
  const heard: ContentPart[] = [];
  for (const given of event.content?.parts ?? []) {
    let part = given;
    if (part.kind === 'function-response') continue;
    // Thoughts are for the turn in which they were thought, and only their own vendor can read their signature.
    if (part.kind === 'thought' && !(sameModel && event.runId === options.runId)) continue;
    if (part.kind === 'function-call') {
      const response = responses.get(callKey(event, part));
      const id = idOf(event, part);
      if (response) heard.push({ ...forModel(response), id });
      else if (options.openCalls !== true) continue;
      part = { ...part, id };
    }
    said.push(sameModel ? part : withoutProvider(part));
  }
  // A thought or signature that led to a call makes no sense without it.
  if (said.every(({ kind }) => kind === 'thought')) return;
  add(history, 'model', said);
  add(history, 'user', heard);
}

/** Runs that went on at the same time may have calls of one id. */
function callKey({ runId }: Event, { id }: { readonly id: string }): string {
  return `${runId} ${id}`;
}

/** Vendors refuse a conversation with two calls of one id: of those, the run that looks knows its own by theirs. */
function uniqueIds(events: readonly Event[], { agent, runId }: HistoryOptions): Calls['idOf'] {
  const owners = new Map<string, string>();
  for (const event of events) {
    if (event.author !== agent || event.runId !== runId) continue;
    for (const call of functionCalls(event.content)) owners.set(call.id, callKey(event, call));
  }
  return (event, call) => {
    const key = callKey(event, call);
    const owner = owners.get(call.id) ?? key;
    owners.set(call.id, owner);
    return owner === key ? call.id : `call_${hash('sha256', key).slice(0, 32)}`;
  };
}

function forModel({ display: _display, ...response }: FunctionResponsePart): FunctionResponsePart {
  return response;
}

function withoutProvider(part: ContentPart): ContentPart {
  if (!('provider' in part)) return part;
  const { provider: _, ...rest } = part;
  return rest;
}

/** What another agent said and did. Its thoughts are its own. */
function told({ author, content }: Event): ContentPart[] {
  const parts: ContentPart[] = [];
  const tell = (text: string): void => void parts.push({ kind: 'text', text });
  for (const part of content?.parts ?? []) {
    switch (part.kind) {
      case 'text':
        if (part.text !== '') tell(`[${author}] said: ${part.text}`);
        break;
      case 'data':
        tell(`[${author}] said: ${JSON.stringify(part.data)}`);
        break;
      case 'blob':
      case 'file':
        tell(`[${author}] sent:`);
        parts.push(withoutProvider(part));
        break;
      case 'function-call':
        if (part.name !== TRANSFER_TOOL) {
          tell(`[${author}] called ${part.name} with ${cut(JSON.stringify(part.args))}`);
        }
        break;
      case 'function-response':
        if (part.name !== TRANSFER_TOOL) {
          tell(`[${author}] got from ${part.name}: ${cut(JSON.stringify(part.response))}`);
        }
        break;
      case 'thought':
        break;
    }
  }
  return parts;
}

function cut(text = 'nothing'): string {
  return text.length > MAX_TOLD ? `${text.slice(0, MAX_TOLD)}…` : text;
}

/** From the last thing that somebody else said in this run, and what the agent did about it. */
function ownTurn(events: readonly Event[], { agent, runId }: HistoryOptions): Event[] {
  const turn: Event[] = [];
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index]!;
    if (event.runId !== runId || !event.content) continue;
    turn.push(event);
    const isHeard = event.author === 'user' || told(event).length > 0;
    if (event.author !== agent && isHeard && !event.actions.answers) break;
  }
  return turn.toReversed();
}

interface Remaining {
  readonly summary: string | undefined;
  readonly events: readonly Event[];
}

/**
 * What the latest summary does not stand for. A summary of an agent that ran beside others says nothing of those; and
 * a run does not know what other runs did in the session after it had read it.
 */
export function afterSummary(
  events: readonly Event[],
  { branch, runId }: Pick<HistoryOptions, 'branch' | 'runId'>,
): Remaining {
  const conversation = conversationOf(events, runId);
  const by = conversation.findLast(
    (event) => event.actions.compaction !== undefined && covers(event.branch, branch),
  );
  const compaction = by?.actions.compaction;
  if (!by || !compaction) return { summary: undefined, events: conversation };
  const lastRead = by.metadata?.['lastRead'];
  let covered = events.some(({ id }) => id === compaction.upTo);
  let read = events.some(({ id }) => id === lastRead);
  const kept = new Set(conversation);
  const rest: Event[] = [];
  for (const event of events) {
    const isLater = !covered || (!read && event.runId !== by.runId);
    if (isLater && kept.has(event)) rest.push(event);
    if (event.id === compaction.upTo) covered = false;
    if (event.id === lastRead) read = false;
  }
  return { summary: compaction.summary, events: rest };
}

function covers(branch: string | undefined, from: string | undefined): boolean {
  return (
    branch === undefined ||
    branch === from ||
    (isVisible(branch, from) && from !== undefined && from.length > branch.length)
  );
}
