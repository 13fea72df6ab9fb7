/**
 * Makes the conversation for an agent's model from the session's events.
 *
 * The agent's own turns have the role `model`. The turns of other agents are described as text with the role `user`.
 * Each call is followed by its response, in the order of the calls.
 *
 * A call of another run may have no response, because that run waits or its process has ended. Such a call gets a
 * response that states this, because vendors refuse a call without a response. The call is not omitted, because the
 * model must know that it made the call. An open call of the current run is omitted, because its response follows
 * later. These are also omitted: responses without a call, events that a summary covers, events that are not part of
 * the conversation (conversation.ts), and thoughts of other agents, models and runs.
 */
import { hash } from 'node:crypto';
import { shorten } from '../../base/index.ts';
import {
  functionCalls,
  type Content,
  type FunctionCallPart,
  type FunctionResponsePart,
  type ContentPart,
} from '../content.ts';
import { isWithin } from './branches.ts';
import { conversationOf } from './conversation.ts';
import type { Event } from '../event.ts';

export interface HistoryOptions {
  readonly agent: string;
  readonly runId: string;
  readonly branch: string | undefined;
  /**
   * The events that are included. With `none`, only the last message of another author in this run, and the events
   * after that message, are included.
   */
  readonly include: 'default' | 'none';
  /** The name of the model. The vendor data of a part is sent only to the model that created it. */
  readonly model: string;
  /**
   * Whether all calls without a response are included, and no response is inserted after them. Only tools and hooks may
   * get such a history, because models refuse it.
   */
  readonly openCalls?: boolean;
}

/** Maximum length of the arguments and responses in the description of other agents' calls, in characters. */
const MAX_TOLD = 2000;
/** The response that is inserted after a call of another run if the call has no response. */
const NO_RESULT = 'no result: this call still waits for an answer, or it was interrupted';
/** The name of the transfer tool. Its calls are not described to other agents. */
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
    const text = `Summary of the conversation so far:\n${summary}`;
    add(history, 'user', [{ kind: 'text', text }]);
  }
  for (const event of kept) {
    if (!event.content) add(history, 'user', wordsIn(event));
    else if (event.author === 'user') {
      add(history, 'user', [...event.content.parts, ...wordsIn(event)]);
    } else if (event.author !== options.agent) add(history, 'user', told(event));
    else if (event.content.role === 'model') addOwn(history, event, { responses, idOf }, options);
    // An event of the agent with the role `user` contains tool responses or other content for its model. The responses
    // were already added with their calls.
    else {
      const others = event.content.parts.filter(({ kind }) => kind !== 'function-response');
      add(history, 'user', others);
    }
  }
  return history;
}

/** Returns the texts that a person sent together with the answers in this event. */
function wordsIn({ actions }: Event): ContentPart[] {
  return (actions.answers ?? []).flatMap(({ words = '' }) =>
    words === '' ? [] : [{ kind: 'text', text: words }],
  );
}

interface Draft extends Content {
  readonly parts: ContentPart[];
}

/** Adds parts to the history. Consecutive parts of the same role are merged into one content. */
function add(history: Draft[], role: Content['role'], parts: readonly ContentPart[]): void {
  if (parts.length === 0) return;
  const last = history.at(-1);
  if (last?.role === role) last.parts.push(...parts);
  else history.push({ role, parts: [...parts] });
}

interface Calls {
  /** The responses, by the keys of their calls. */
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
    // Thoughts are sent only within their run and only to the model that created them, because only this model can
    // read their signature.
    if (part.kind === 'thought' && !(sameModel && event.runId === options.runId)) continue;
    if (part.kind === 'function-call') {
      const response = responses.get(callKey(event, part));
      const id = idOf(event, part);
      if (response) heard.push({ ...forModel(response), id });
      else if (options.openCalls !== true) {
        if (event.runId === options.runId) continue;
        const { name } = part;
        heard.push({ kind: 'function-response', id, name, response: NO_RESULT, isError: true });
      }
      part = { ...part, id };
    }
    said.push(sameModel ? part : withoutProvider(part));
  }
  // If only thoughts are left because the calls were omitted, the thoughts are omitted too.
  if (said.every(({ kind }) => kind === 'thought')) return;
  add(history, 'model', said);
  add(history, 'user', heard);
}

/** Returns the key of a call. It includes the run's id, because concurrent runs may have calls with the same id. */
function callKey({ runId }: Event, { id }: { readonly id: string }): string {
  return `${runId} ${id}`;
}

/**
 * Returns a function that makes the ids of calls unique, because vendors refuse two calls with the same id. If ids are
 * equal, the call of the current run keeps the id. If there is no such call, the first call keeps it. The other calls
 * get new ids.
 */
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

function forModel(given: FunctionResponsePart): FunctionResponsePart {
  const { display: _display, error: _error, ...response } = given;
  return response;
}

function withoutProvider(part: ContentPart): ContentPart {
  if (!('provider' in part)) return part;
  const { provider: _, ...rest } = part;
  return rest;
}

/** Describes another agent's turn as text, without its thoughts. */
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
          const args = shorten(JSON.stringify(part.args), MAX_TOLD);
          tell(`[${author}] called ${part.name} with ${args}`);
        }
        break;
      case 'function-response':
        if (part.name !== TRANSFER_TOOL) {
          const response = shorten(JSON.stringify(part.response) ?? 'nothing', MAX_TOLD);
          tell(`[${author}] got from ${part.name}: ${response}`);
        }
        break;
      case 'thought':
        break;
    }
  }
  return parts;
}

/** Returns the last message of another author in this run, and the events after it. */
function ownTurn(events: readonly Event[], { agent, runId }: HistoryOptions): Event[] {
  const turn: Event[] = [];
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index]!;
    if (event.runId !== runId || (!event.content && wordsIn(event).length === 0)) continue;
    turn.push(event);
    const isHeard = event.author === 'user' || told(event).length > 0;
    if (event.author !== agent && isHeard && !event.actions.answers) break;
  }
  return turn.toReversed();
}

/**
 * Returns the latest summary and the events that it does not cover. A summary from a parallel branch covers only that
 * branch. A summary does not cover events that other runs added after the summarizing run had read the session.
 */
export function afterSummary(
  events: readonly Event[],
  { branch, runId }: Pick<HistoryOptions, 'branch' | 'runId'>,
): { readonly summary: string | undefined; readonly events: readonly Event[] } {
  const conversation = conversationOf(events, runId);
  const by = conversation.findLast(
    (event) => event.actions.compaction !== undefined && isWithin(branch, event.branch),
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
