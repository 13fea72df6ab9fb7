/** The entries of the history. */
import type { AgentThought, EventSource, ToolCall } from '../../protocol/development-tool/index.ts';
import type { DataPart, FilePart } from '../../protocol/index.ts';
import { hasOption, isAwaitingAnswer, OPTION } from '../../protocol/schema-free/index.ts';

/** The name of the tool with which the agent asks a question. */
const ASK_USER = 'ask_user';

/** A person's answer to a confirmation request. */
export interface Decision {
  readonly by: EventSource | undefined;
  /** The typed answer or the name of the chosen option. If the person gave a reason, it follows the name. */
  readonly option: string;
  /** The id of the answered request. */
  readonly correlationId: string | undefined;
}

/** A part of a message that is not text. */
export type ShownPart = FilePart | DataPart;

interface Common {
  /** A unique number. Later entries usually have higher numbers. */
  readonly id: number;
  /** True if the entry will not change any more. */
  readonly done: boolean;
  /** Whether a blank line is printed before the entry. */
  readonly gap: boolean;
  /** True if only this client shows the entry. The entry is not in the log of the session. */
  readonly local?: boolean;
}

export type PromptEntry = Common & {
  readonly kind: 'prompt';
  /** The words, with `[NAME]` for each file and `[data]` for each data part. */
  readonly text: string;
  /** The files and the data of the message, for displays that can show them. */
  readonly parts?: readonly ShownPart[];
  readonly from: EventSource | undefined;
};
/** A block of the agent's answer. */
export type TextEntry = Common & {
  readonly kind: 'text';
  readonly text: string;
  /** Whether the block is the first of its answer. */
  readonly first: boolean;
};
export type ThoughtEntry = Common & { readonly kind: 'thought'; readonly thought: AgentThought };
export type CallEntry = Common & {
  readonly kind: 'call';
  readonly call: ToolCall;
  readonly decision?: Decision;
  /** True if the turn ended before the call ended. */
  readonly stopped?: boolean;
};
export type NoticeEntry = Common & {
  readonly kind: 'notice';
  readonly level: 'info' | 'error';
  readonly text: string;
  /** A link to show with the text, and the rows of its QR code, in which dark modules are true. */
  readonly link?: { readonly url: string; readonly code: readonly (readonly boolean[])[] };
  /** The file or the data that the text is about, for displays that can show it. */
  readonly part?: ShownPart;
};

export type Entry = PromptEntry | TextEntry | ThoughtEntry | CallEntry | NoticeEntry;

export function isWaiting(entry: Entry): entry is CallEntry {
  return (
    entry.kind === 'call' &&
    isAwaitingAnswer(entry.call) &&
    entry.decision === undefined &&
    entry.stopped !== true
  );
}

/**
 * Returns whether the call is a question from the agent, and not a request for approval. A question can be answered
 * with free text.
 */
export function isQuestion({ call }: CallEntry): boolean {
  // A helper's question arrives in the call that started the helper. The tool of this call is not `ask_user`, so the
  // option for free text is checked too.
  return call.tool_name === ASK_USER || hasOption(call, OPTION.words);
}
