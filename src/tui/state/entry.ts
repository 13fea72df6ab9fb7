/** What the history is made of. */
import type { AgentThought, EventSource, ToolCall } from '../../protocol/development-tool/index.ts';

/** The tool by which the agent asks a person. */
const ASK_USER = 'ask_user';

/** What somebody chose when a call was asked about. */
export interface Decision {
  readonly by: EventSource | undefined;
  /** The option's name for people. */
  readonly option: string;
  /** Of the request that this answers. */
  readonly correlationId: string | undefined;
}

interface Common {
  /** Counts up through the history. */
  readonly id: number;
  /** Nothing will change it. */
  readonly done: boolean;
  /** A blank line belongs before it. */
  readonly gap: boolean;
  /** It is not in the log: only this client shows it. */
  readonly local?: boolean;
}

export type PromptEntry = Common & {
  readonly kind: 'prompt';
  readonly text: string;
  readonly from: EventSource | undefined;
};
/** A block of the answer. */
export type TextEntry = Common & {
  readonly kind: 'text';
  readonly text: string;
  /** The first block of its answer. */
  readonly first: boolean;
};
export type ThoughtEntry = Common & { readonly kind: 'thought'; readonly thought: AgentThought };
export type CallEntry = Common & {
  readonly kind: 'call';
  readonly call: ToolCall;
  readonly decision?: Decision;
  /** Its turn was over before it was. */
  readonly stopped?: boolean;
};
export type NoticeEntry = Common & {
  readonly kind: 'notice';
  readonly level: 'info' | 'error';
  readonly text: string;
};

export type Entry = PromptEntry | TextEntry | ThoughtEntry | CallEntry | NoticeEntry;

export function isWaiting(entry: Entry): entry is CallEntry {
  return (
    entry.kind === 'call' &&
    entry.call.status === 'PENDING' &&
    entry.call.confirmation_request !== undefined &&
    entry.decision === undefined &&
    entry.stopped !== true
  );
}

/** The agent wants to know something; nothing is to be allowed. Words are an answer to it, whatever may be chosen. */
export function isQuestion({ call }: CallEntry): boolean {
  return call.tool_name === ASK_USER;
}
