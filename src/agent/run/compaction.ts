/**
 * Compaction. When a conversation becomes too long for the model's context window, the same model writes a summary. The
 * summary replaces the older part of the conversation.
 *
 * The summary is stored as an event, so it is made once and all later requests use it. The older events remain in the
 * session. A call is never separated from its response. If the summary cannot be made, the conversation is not
 * changed, and the model may refuse it as too long.
 */
import { cutText } from '../../base/index.ts';
import {
  functionCalls,
  functionResponses,
  contentText,
  type BlobPart,
  type Content,
  type FileContentPart,
} from '../content.ts';
import type { Event, Usage } from '../event.ts';
import { afterSummary, historyOf, type HistoryOptions } from './history.ts';
import { RunFailure } from '../errors.ts';
import { ModelError, type Model } from '../model.ts';
import { CHARS_PER_TOKEN } from '../models/pieces.ts';
import type { RunScope } from './run-context.ts';
import { generate } from '../spans.ts';

/** The conditions for compacting a conversation. */
export interface CompactionOptions {
  /**
   * Number of tokens above which a conversation is compacted. Default: 80 % of the model's context window. If this size
   * is unknown, a conversation is compacted only when the model has refused it as too long.
   */
  readonly atTokens?: number;
  /**
   * Number of latest events that are kept, and not summarized. Default: 20. More events are kept if a call would
   * otherwise be separated from its response. A summary replaces at least 4 events. If fewer than 4 events would be
   * summarized, the number of latest events is reduced to at most 4. If there are still too few events, the
   * conversation is not compacted.
   */
  readonly keepEvents?: number;
  /** Called when the summary could not be made. In this case, the conversation is not changed. Must not throw. */
  readonly onFailure?: (error: unknown) => void;
}

const WINDOW_SHARE = 0.8;
const KEEP_EVENTS = 20;
/** Minimum number of events to summarize. */
const MIN_EVENTS = 4;
const MAX_SUMMARY_CHARS = 64_000;
/** The maximum share of the context window for one request for a summary. The rest is for the summary itself. */
const REQUEST_SHARE = 0.5;
/**
 * Maximum number of requests for one attempt at a summary. If a conversation would need more requests, only its
 * beginning and its end are summarized.
 */
const MAX_REQUESTS = 8;
/** The share of a request that the result of one tool call may use. */
const RESULT_SHARE = 0.25;
const MAX_ATTEMPTS = 3;
/** Maximum number of characters of a name or address of a file in the transcript. */
const MAX_NAME = 500;
/** Separates the previous summary from the next part of the conversation, in one request. */
const GAP = '\n\n';

const INSTRUCTION = `Summarize the conversation that follows, for an agent that will continue it without seeing it.
Keep what the user wants, decisions, facts, names, numbers, results of tools, and what is still to be done.
Leave out what no longer matters. Answer with the summary alone.`;

/**
 * Returns a compaction event, or `failed` if the summary could not be made. Returns undefined if the conversation is
 * short enough, or if there are too few events to summarize. Also returns undefined if neither `atTokens` nor the size
 * of the context window is known. Throws if the run was aborted or has reached its limit of requests.
 */
export async function compact(
  scope: RunScope,
  model: Model,
  view: HistoryOptions,
  options: CompactionOptions = {},
): Promise<Event | 'failed' | undefined> {
  if (model.contextWindow === undefined) await model.findContextWindow?.(scope.signal);
  const limit = options.atTokens ?? (model.contextWindow ?? Infinity) * WINDOW_SHARE;
  if (limit === Infinity) return undefined;
  const { summary: before = '', events } = afterSummary(scope.events, view);
  if (tokensOf(events, before, scope.agent.name) <= limit) return undefined;
  const keep = options.keepEvents ?? KEEP_EVENTS;
  // Even a few long events may exceed the limit, so the second attempt keeps fewer events.
  const end = [keep, Math.min(keep, MIN_EVENTS)]
    .map((kept) => cutOf(events, kept))
    .find((cut) => cut >= MIN_EVENTS);
  const last = end === undefined ? undefined : events[end - 1];
  if (!last) return undefined;
  // The history includes the previous summary.
  const older = scope.events.slice(0, scope.events.indexOf(last) + 1);
  let made: Summary;
  try {
    made = await summarize(scope, model, historyOf(older, view));
  } catch (error) {
    if (scope.signal.aborted || error instanceof RunFailure) throw error;
    options.onFailure?.(error);
    return 'failed';
  }
  const { lastRead } = scope.inner;
  return scope.event({
    actions: { compaction: { upTo: last.id, summary: made.summary } },
    ...(made.usage && { usage: made.usage }),
    metadata: { model: model.name, ...(lastRead !== undefined && { lastRead }) },
  });
}

/**
 * Returns the size of an agent's conversation in tokens, as the next request would send it. The size is the vendor's
 * last count plus an estimate for later events. If there is no count since the last summary, the whole size is an
 * estimate.
 */
export function contextTokens(events: readonly Event[], agent: string, runId = ''): number {
  const { summary = '', events: kept } = afterSummary(events, { branch: undefined, runId });
  return Math.round(tokensOf(kept, summary, agent));
}

/** Returns the vendor's last token count plus an estimate for later events. Without a count, estimates everything. */
function tokensOf(events: readonly Event[], summary: string, agent: string): number {
  let chars = summary.length;
  let counts = true;
  for (const { author, usage, content, actions } of events.toReversed()) {
    // A count from before the summary includes the events that the summary has replaced, so it is not used.
    if (actions.compaction) counts = false;
    if (counts && author === agent && usage) {
      return usage.inputTokens + usage.outputTokens + (chars - summary.length) / CHARS_PER_TOKEN;
    }
    if (content) chars += JSON.stringify(content.parts).length;
  }
  return chars / CHARS_PER_TOKEN;
}

/**
 * Returns the number of events to summarize. This is the largest number that keeps the last `keep` events and does not
 * separate a call from its response.
 */
export function cutOf(events: readonly Event[], keep: number): number {
  const answered = new Set(
    events.flatMap(({ content }) => functionResponses(content).map(({ id }) => id)),
  );
  const open = new Set<string>();
  let cut = 0;
  for (const [index, { content }] of events.slice(0, Math.max(0, events.length - keep)).entries()) {
    for (const { id } of functionCalls(content)) if (answered.has(id)) open.add(id);
    for (const { id } of functionResponses(content)) open.delete(id);
    if (open.size === 0) cut = index + 1;
  }
  return cut;
}

interface Summary {
  readonly summary: string;
  readonly usage: Usage | undefined;
}

/**
 * Makes the summary. If the conversation does not fit into one request, each request has a part of the conversation and
 * the summary of all earlier parts.
 */
async function summarize(
  scope: RunScope,
  model: Model,
  messages: readonly Content[],
): Promise<Summary> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await summarizeParts(scope, model, messages);
    } catch (error) {
      // After this error, a vendor's model has a new value of `contextWindow`: the size in the error, or an estimate.
      // With this value, the next attempt splits the conversation into smaller parts.
      const isTooLong = error instanceof ModelError && error.code === 'too-long';
      if (!isTooLong || attempt >= MAX_ATTEMPTS || model.contextWindow === undefined) throw error;
    }
  }
}

async function summarizeParts(
  scope: RunScope,
  model: Model,
  messages: readonly Content[],
): Promise<Summary> {
  const { contextWindow = Infinity } = model;
  const room = Math.floor(contextWindow * REQUEST_SHARE * CHARS_PER_TOKEN);
  const text = transcript(messages, Math.floor(room * RESULT_SHARE));
  let all: Summary = { summary: '', usage: undefined };
  // If there are several requests, half of each request is for the summary of all earlier parts.
  const half = Math.max(GAP.length, Math.floor(room / 2));
  for (const part of text.length <= room ? [text] : partsOf(text, half)) {
    const before = cutText(
      `Summary of the conversation before:\n${all.summary}`,
      half - GAP.length,
    );
    const said = all.summary === '' ? part : `${before}${GAP}${part}`;
    const { summary, usage } = await summarizeText(scope, model, said);
    all = { summary, usage: added(all.usage, usage) };
  }
  return all;
}

/** Splits a text into parts of this length. If there are too many parts, keeps only the first one and the last ones. */
function partsOf(text: string, length: number): string[] {
  const count = Math.ceil(text.length / length);
  const all = Array.from({ length: count }, (_, at) => at);
  const used = count <= MAX_REQUESTS ? all : [0, ...all.slice(1 - MAX_REQUESTS)];
  return used.map((at) => text.slice(at * length, (at + 1) * length).toWellFormed());
}

function added(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (!a || !b) return a ?? b;
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedTokens: (a.cachedTokens ?? 0) + (b.cachedTokens ?? 0),
    thoughtTokens: (a.thoughtTokens ?? 0) + (b.thoughtTokens ?? 0),
  };
}

async function summarizeText(scope: RunScope, model: Model, text: string): Promise<Summary> {
  scope.inner.countStep();
  const request = {
    system: INSTRUCTION,
    messages: [{ role: 'user' as const, parts: [{ kind: 'text' as const, text }] }],
  };
  let summary = '';
  let usage: Usage | undefined;
  for await (const chunk of generate(model, request, scope.signal)) {
    if (chunk.kind === 'text') summary += chunk.text;
    if (chunk.kind === 'finish') usage = chunk.usage;
    if (summary.length > MAX_SUMMARY_CHARS) break;
  }
  if (summary.trim() === '') {
    throw new ModelError('failed', `${model.name} returned an empty summary: try again later`);
  }
  return { summary: cutText(summary, MAX_SUMMARY_CHARS), usage };
}

/**
 * Returns the conversation as text, because a model that sees calls tends to make calls. For a file, the text contains
 * only the name, the type and the URL, not the content. Data and the results of tools are cut to `maxResult`
 * characters.
 */
function transcript(messages: readonly Content[], maxResult: number): string {
  const lines: string[] = [];
  const inJson = (value: unknown): string => {
    const json = JSON.stringify(value) ?? 'nothing';
    return json.length > maxResult ? `${cutText(json, maxResult)} […]` : json;
  };
  for (const content of messages) {
    const speaker = content.role === 'user' ? 'User' : 'Agent';
    const text = contentText(content);
    if (text !== '') lines.push(`${speaker}: ${text}`);
    for (const part of content.parts) {
      switch (part.kind) {
        case 'data':
          lines.push(`${speaker}: ${inJson(part.data)}`);
          break;
        case 'blob':
        case 'file':
          lines.push(`${speaker} sent ${fileText(part)}`);
          break;
        case 'function-call':
          lines.push(`Agent called ${part.name}: ${JSON.stringify(part.args)}`);
          break;
        case 'function-response':
          lines.push(`${part.name} answered: ${inJson(part.response)}`);
          for (const file of part.parts ?? []) lines.push(`${part.name} sent ${fileText(file)}`);
          break;
        default:
        // Texts were added above. Thoughts are left out.
      }
    }
  }
  return lines.join('\n');
}

function fileText(part: BlobPart | FileContentPart): string {
  const name = part.name === undefined ? 'a file' : `the file ${cutText(part.name, MAX_NAME)}`;
  const where = part.kind === 'file' ? ` at ${cutText(part.uri, MAX_NAME)}` : '';
  return `${name}${where} (${part.mediaType ?? 'unknown type'})`;
}
