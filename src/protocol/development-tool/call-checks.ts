/** Functions for tool calls, their confirmation requests and the answers to them. This file loads no schema. */
import { defined } from '../../base/index.ts';
import { A2AError } from '../errors.ts';
import type { ConfirmationOption, ToolCall, ToolCallConfirmation } from './tool-call.ts';

/** The ids of confirmation options that clients treat specially. */
export const OPTION = {
  /** Runs the call once. A question from a tool does not have this option. */
  once: 'proceed_once',
  cancel: 'cancel',
  /** Writes the content in `file_details` instead of the proposed content. */
  modify: 'modify',
  /** Answers a question with a text. The text must be in `answer` or in a text part of the same message. */
  words: 'answer',
} as const;

/** Returns whether the call waits for a person's answer. */
export function isAwaitingAnswer({ status, confirmation_request }: ToolCall): boolean {
  return status === 'PENDING' && confirmation_request !== undefined;
}

/**
 * Returns the id of a call's current request. A call may ask several times, each time with a new `correlationId`.
 * Without a `correlationId`, the id of the request is the id of the call.
 */
export function requestId({ correlationId, tool_call_id }: RequestIds): string {
  return correlationId ?? tool_call_id;
}

/** Returns the answer that selects this option of a call's current request. */
export function confirmationOf(
  { tool_call_id, correlationId }: RequestIds,
  selected_option_id: string,
  more: Pick<ToolCallConfirmation, 'answer' | 'reason' | 'file_details'> = {},
): ToolCallConfirmation {
  return { tool_call_id, selected_option_id, ...defined({ correlationId }), ...more };
}

type RequestIds = Pick<ToolCall, 'tool_call_id' | 'correlationId'>;

const ALREADY_RESOLVED = 'ALREADY_RESOLVED';

/** Returns the error for an answer that came after another client's answer. `what` describes the earlier answer. */
export function alreadyResolved(by: string, what: string, info: Record<string, string>): A2AError {
  const text = `already resolved by ${by}: ${what}`;
  return new A2AError('unsupportedOperation', text, { reason: ALREADY_RESOLVED, info });
}

/** Returns whether an answer was refused because another client has answered first. */
export function isAlreadyResolved(
  error: unknown,
): error is A2AError & { readonly reason: typeof ALREADY_RESOLVED } {
  return error instanceof A2AError && error.reason === ALREADY_RESOLVED;
}

/** Returns whether the call's confirmation request has the option with this id. */
export function hasOption({ confirmation_request: request }: ToolCall, id: string): boolean {
  return request?.options.some((option) => option.id === id) ?? false;
}

/** Returns whether the only options of the call's question are a text answer and, if it is offered, canceling. */
export function isOpenQuestion({ confirmation_request: request }: ToolCall): boolean {
  const choices = request?.options.filter(({ id }) => id !== OPTION.cancel) ?? [];
  return choices.length > 0 && choices.every(({ id }) => id === OPTION.words);
}

/** Returns whether the call has its final status. */
export function hasEnded({ status }: ToolCall): boolean {
  return status === 'SUCCEEDED' || status === 'FAILED' || status === 'CANCELLED';
}

/**
 * Returns whether a text can be a slash command. A text that begins with a path such as `/etc/hosts` is not a command.
 */
export function mayBeCommand(text: string): boolean {
  return /^\/[^\s/]+(?:\s|$)/.test(text);
}

/** The key of gemini-cli's dialect in `metadata`. See coder-agent.ts. */
export const CODER_AGENT = 'coderAgent';

/** Returns whether a call or an answer was sent in gemini-cli's dialect. */
export function isCoderAgentForm(value: object): boolean {
  return 'dialect' in value && value.dialect === CODER_AGENT;
}

/**
 * Returns the id of the option that a confirmation selects. A client of gemini-cli's dialect may use gemini-cli's fixed
 * options instead of the options of the call. If it selects an "always" option that the call does not offer, only this
 * call is allowed.
 */
export function selectedOption(
  confirmation: ToolCallConfirmation,
  options: readonly ConfirmationOption[],
): string {
  const { selected_option_id: id } = confirmation;
  const narrows = isCoderAgentForm(confirmation) && id.startsWith('proceed_always');
  return narrows && !options.some((option) => option.id === id) ? OPTION.once : id;
}
