/** The types and limits of the prompt queue of a live session, and the errors for its messages. */
import { alreadyResolved } from '../protocol/development-tool/index.ts';
import { A2AError, type Call, type Message, type MessageSendParams } from '../protocol/index.ts';
import { roughSize, sameJson } from '../tasks/index.ts';
import type { QueuedPrompt } from './client/session.ts';

/** Limits of the queue: number of prompts and total size. */
const MAX_QUEUED = 64;
const MAX_QUEUED_BYTES = 32 * 1024 * 1024;

/** A message of a client, with the call context in which it is sent. */
export interface Sendable extends Pick<
  MessageSendParams,
  'message' | 'configuration' | 'metadata'
> {
  readonly call: Call;
}

/** A prompt of a client. */
export interface Prompt extends Sendable {
  /** The form in which other clients see the prompt while it is queued. */
  readonly shown: QueuedPrompt;
  /** Whether the prompt may answer open questions that accept text. */
  readonly mayAnswer: boolean;
  /** Whether the prompt is a command that can run while the turn waits for an answer. */
  readonly runsBeside?: boolean;
}

export interface WaitingPrompt extends Prompt {
  /** Resolves with the reason if the prompt is dropped or refused. */
  readonly forgotten: PromiseWithResolvers<A2AError>;
  /** Whether the prompt was dropped while it was being sent. If the attempt to send it fails, it is not sent again. */
  dropped?: boolean;
  /** Reports the result of the first attempt to send the prompt. */
  tried?: ((outcome: { readonly error?: unknown; readonly queued?: boolean }) => void) | undefined;
}

/** Throws if the queue is full. */
export function checkRoom(queue: readonly WaitingPrompt[]): void {
  const bytes = queue.reduce((sum, { message }) => sum + roughSize(message), 0);
  if (queue.length < MAX_QUEUED && bytes < MAX_QUEUED_BYTES) return;
  throw new A2AError('rateLimited', 'Too many prompts are queued', { retryAfterSeconds: 5 });
}

/** Throws if a message has the id of a queued message, but other content. */
export function checkSame(queued: Message, message: Message): void {
  if (sameJson(queued, message)) return;
  throw new A2AError(
    'invalidParams',
    'message.messageId: already used for a message with different content',
  );
}

export function droppedError(taskId: string): A2AError {
  const text =
    'The prompt was dropped from the queue: the turn or the prompt was canceled, or the token of its sender was revoked.';
  return new A2AError('conflict', text, { info: { taskId } });
}

/** Returns the error for an answer in words that came after another client's answer. */
export function alreadyAnswered(taskId: string): A2AError {
  const what = 'the questions that were open have been answered';
  return alreadyResolved('another client', what, { taskId });
}

export function overError(): A2AError {
  return new A2AError('unavailable', 'The live session has ended');
}
