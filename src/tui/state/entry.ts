/** The entries of the history. */
import type { AgentThought, EventSource, ToolCall } from '../../protocol/development-tool/index.ts';

/** The tool with which the agent asks a question. */
const ASK_USER = 'ask_user';

/** A person's answer to a confirmation request. */
export interface Decision {
  readonly by: EventSource | undefined;
  /** The name of the chosen option, or the typed answer. */
  readonly option: string;
  /** The id of the answered request. */
  readonly correlationId: string | undefined;
}

interface Common {
  /** Increases through the history. */
  readonly id: number;
  /** The entry will not change any more. */
  readonly done: boolean;
  /** A blank line goes before the entry. */
  readonly gap: boolean;
  /** Only this client shows the entry; it is not in the log of the session. */
  readonly local?: boolean;
}

export type PromptEntry = Common & {
  readonly kind: 'prompt';
  readonly text: string;
  readonly from: EventSource | undefined;
};
/** A block of the agent's answer. */
export type TextEntry = Common & {
  readonly kind: 'text';
  readonly text: string;
  /** Whether it is the first block of its answer. */
  readonly first: boolean;
};
export type ThoughtEntry = Common & { readonly kind: 'thought'; readonly thought: AgentThought };
export type CallEntry = Common & {
  readonly kind: 'call';
  readonly call: ToolCall;
  readonly decision?: Decision;
  /** The turn ended before the call did. */
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

/** Whether the call is a question of the agent, which can always be answered in words, and not a request to approve. */
export function isQuestion({ call }: CallEntry): boolean {
  return call.tool_name === ASK_USER;
}
