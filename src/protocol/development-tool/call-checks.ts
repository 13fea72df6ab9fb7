/** Checks of a tool call: its options, and whether it waits or has ended. This file loads no schema. */
import type { ToolCall } from './tool-call.ts';

/** The ids of confirmation options that clients treat specially. */
export const OPTION = {
  /** Runs the call once. Questions that a tool asks do not have this option. */
  once: 'proceed_once',
  cancel: 'cancel',
  /** Writes different content, which must be in `file_details`. */
  modify: 'modify',
  /** Answers a question with a text, which must be in `answer` or in a text part of the same message. */
  words: 'answer',
} as const;

/** Returns whether the call waits for a person's answer. */
export function isAwaitingAnswer({ status, confirmation_request }: ToolCall): boolean {
  return status === 'PENDING' && confirmation_request !== undefined;
}

/** Returns whether the call's confirmation request has the option with this id. */
export function hasOption({ confirmation_request: request }: ToolCall, id: string): boolean {
  return request?.options.some((option) => option.id === id) ?? false;
}

/** Returns whether the call asks a question that can be answered only with a text. */
export function isOpenQuestion({ confirmation_request: request }: ToolCall): boolean {
  const choices = request?.options.filter(({ id }) => id !== OPTION.cancel) ?? [];
  return choices.length > 0 && choices.every(({ id }) => id === OPTION.words);
}

/** Returns whether the call has its final status. */
export function hasEnded({ status }: ToolCall): boolean {
  return status === 'SUCCEEDED' || status === 'FAILED' || status === 'CANCELLED';
}

/** Returns whether a text can be a slash command. A path such as `/etc/hosts` cannot, so it may be an answer. */
export function mayBeCommand(text: string): boolean {
  return /^\/[^\s/]+(?:\s|$)/.test(text);
}
