/**
 * The list of approvals of a conversation: which calls were allowed, rejected or answered, by whom, from where and
 * when.
 *
 * The list is read from the session's log, so it covers all tasks of the conversation and survives a restart. When a
 * person's decision is accepted, it is copied from the task's log to the session's log. If a call runs without
 * approval, the reason is recorded in the session's state, together with the result of the call. For tools with the
 * effects `read` and `talk`, no reason is recorded.
 */
import * as z from 'zod';
import { createEvent, type Event, type MutableState } from '../../agent/index.ts';
import { cutText, defined, reveal, shorten, type JsonObject } from '../../base/index.ts';
import {
  hasOption,
  OPTION,
  type EventSource,
  type ToolCall,
} from '../../protocol/development-tool/index.ts';
import type { Message } from '../../protocol/index.ts';

const KEY = 'coder.approvals';
/** Maximum lengths, in characters, of the call and of the person's words in an entry of the list. */
const MAX_CALL = 2000;
const MAX_WORDS = 1000;
/** Maximum number of calls that are recorded in the state of a helper. */
const MAX_NOTED = 50;
/** Maximum length of each text in a line of a list. */
const MAX_SHOWN = 200;

const Approval = z.object({
  /** The time of the decision, in ISO 8601 format. */
  at: z.string(),
  decision: z.enum(['approved', 'rejected', 'answered', 'automatic']),
  tool: z.string(),
  /** The id of the call. */
  callId: z.string(),
  /** The description of the call, up to MAX_CALL characters. */
  call: z.string(),
  /** The name of the helper that made the call, or undefined if the main agent made it. */
  agent: z.string().optional(),
  /** The id and the name of the selected option, or undefined if the call needed no approval. */
  option: z.object({ id: z.string(), name: z.string() }).optional(),
  /** The person's own words, or the reason why the call needed no approval. */
  reason: z.string().optional(),
  /** The client that decided, or undefined if the call needed no approval. `kind` is terminal, a2a, acp or http. */
  by: z
    .object({ client: z.string(), name: z.string().optional(), kind: z.string().optional() })
    .optional(),
});
export type Approval = z.infer<typeof Approval>;
const Approvals = z.array(Approval);

/** A person's decision about a call, with the call as it was shown. */
export interface CallDecision {
  readonly call: ToolCall;
  /** The id of the selected option. A text answer is mapped to the option with the same meaning. */
  readonly option: string;
  /** The person's own text, for example a reason or an answer. Empty if there is none. */
  readonly words: string;
  readonly source: EventSource | undefined;
  /** The message with the decision. */
  readonly message: Message;
}

/** Returns the approvals in the log of a session, oldest first. */
export function approvalsIn(events: readonly Event[]): Approval[] {
  const found = new Map<string, Approval>();
  for (const { metadata, actions } of events) {
    for (const list of [metadata?.[KEY], actions.stateDelta?.[KEY]]) {
      for (const each of Approvals.safeParse(list).data ?? []) {
        found.set(JSON.stringify([each.callId, each.at]), each);
      }
    }
  }
  return [...found.values()].toSorted((one, other) => one.at.localeCompare(other.at));
}

/**
 * Returns an approval as one line of text. A client can choose its own name, so the name is quoted. Line breaks in all
 * texts are replaced, so that no text can imitate another line.
 */
export function approvalLine({ at, decision, call, agent, option, reason, by }: Approval): string {
  const name = by?.name === undefined ? '' : `"${revealedLine(by.name).replaceAll('"', "'")}" `;
  const who = by ? ` by ${name}(${revealedLine([by.client, by.kind ?? ''].join(' '))})` : '';
  const chosen = decision === 'approved' && option ? `, ${revealedLine(option.name)}` : '';
  const why = reason === undefined ? '' : `: ${revealedLine(reason)}`;
  const helper = agent === undefined ? '' : `${revealedLine(agent)}: `;
  return `${at}  ${decision}${who}${chosen}${why}  ${helper}${revealedLine(call)}`;
}

/** Returns the text for a line of a list: without line breaks, shortened, with symbols for invisible characters. */
export function revealedLine(text: string): string {
  return shorten(reveal(text.replaceAll(/\s+/g, ' ').trim()), MAX_SHOWN);
}

/**
 * Returns the session events that record the decisions in these messages. `decisions` are all decisions of the task.
 */
export function decisionEvents(
  decisions: readonly CallDecision[],
  messages: readonly Message[],
): Event[] {
  return messages.flatMap(({ messageId }) => {
    const own = decisions.filter(({ message }) => message.messageId === messageId);
    if (own.length === 0) return [];
    // The event is marked as an aside, so models never see it. The store ignores an event whose id it already has.
    const id = `approvals-${messageId}`;
    const metadata: JsonObject = { [KEY]: own.map((decision) => approvalOf(decision)) };
    return { ...createEvent({ runId: id, author: 'user' }, { aside: true, metadata }), id };
  });
}

function approvalOf({ call, option, words, source }: CallDecision): Approval & JsonObject {
  const { tool_name: tool, tool_call_id: callId, description = tool, agent } = call;
  const isQuestion = !hasOption(call, OPTION.once);
  const rejects = option === OPTION.cancel;
  const name = call.confirmation_request?.options.find(({ id }) => id === option)?.name ?? option;
  const { client, name: who, kind, at = new Date().toISOString() } = source ?? { client: '' };
  const reason = words.trim() === '' ? undefined : cutText(words, MAX_WORDS);
  return {
    at,
    decision: rejects ? 'rejected' : isQuestion ? 'answered' : 'approved',
    tool,
    callId,
    call: cutText(description, MAX_CALL),
    option: { id: option, name },
    by: { client, ...defined({ name: who, kind }) },
    ...defined({ agent, reason }),
  };
}

/** Records in the state that a call needs no approval, and why. */
export function noteAllowed(
  { state, callId, agent }: { state: MutableState; callId: string; agent?: string | undefined },
  { tool, call, reason }: { tool: string; call: string; reason: string },
): void {
  const noted: Approval & JsonObject = {
    at: new Date().toISOString(),
    decision: 'automatic',
    tool,
    callId,
    call: cutText(call, MAX_CALL),
    reason,
    ...defined({ agent }),
  };
  // Only the last state of a helper is copied to the session, so each state also contains the helper's earlier calls,
  // up to the limit.
  const before = agent === undefined ? [] : (Approvals.safeParse(state.get(KEY)).data ?? []);
  const others = before.filter((each) => each.agent === agent).slice(1 - MAX_NOTED);
  state.set(KEY, [...others, noted] as (Approval & JsonObject)[]);
}
