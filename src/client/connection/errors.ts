/**
 * Errors of the connection to an agent. An error that the agent returns is an A2AError. An aborted call rejects with
 * the reason of its signal. So `instanceof` distinguishes the three cases.
 */

import { A2AError, textOf, type Task, type TaskState } from '../../protocol/index.ts';

/** The reason why a connection failed. */
export type ConnectionFailure =
  /**
   * There was no response, for example because the connection was refused, the host is unknown, or TLS or CORS failed.
   */
  | 'unreachable'
  /** The connection ended before the response was complete, or a stream ended without a single event. */
  | 'broken'
  /** Nothing arrived in time. */
  | 'timeout'
  /** The agent sent a redirect that is not followed, for example to an origin that must not get our credentials. */
  | 'redirect'
  /** The card leads only to origins that must not receive our credentials, or to addresses in private networks. */
  | 'untrusted'
  /** No agent card was found. */
  | 'card'
  /** The card has no interface that this client can use. */
  | 'interface'
  /** The caller closed the client or the stream. */
  | 'closed';

/** Means that the connection to the agent failed. `cause` is the error of the runtime, if there is one. */
export class ConnectionError extends Error {
  readonly reason: ConnectionFailure;

  constructor(reason: ConnectionFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ConnectionError';
    this.reason = reason;
  }
}

/**
 * Means that a stream ended before its task had ended, and could not be resumed. The agent may still be working.
 * `get(taskId)` returns the task, and `resubscribe(taskId, { after: lastSeq })` continues where this stream stopped.
 */
export class StreamInterruptedError extends ConnectionError {
  /**
   * The task's id, or undefined if the stream broke before its first event. In that case, it is unknown whether the
   * message has arrived.
   */
  readonly taskId: string | undefined;
  readonly lastSeq: number | undefined;

  constructor(
    message: string,
    at: { readonly taskId?: string | undefined; readonly lastSeq?: number | undefined },
    options?: ErrorOptions,
  ) {
    super('broken', message, options);
    this.name = 'StreamInterruptedError';
    this.taskId = at.taskId;
    this.lastSeq = at.lastSeq;
  }
}

/**
 * Means that a task failed, was rejected or was canceled. `text()` and `textChunks()` throw it. The error message
 * contains the agent's explanation, on one line.
 */
export class TaskFailedError extends Error {
  override readonly name = 'TaskFailedError';
  /** The whole task, including the artifacts that it has. */
  readonly task: Task;

  constructor(task: Task) {
    const { state, message } = task.status;
    const said = quote(textOf(message?.parts ?? []));
    const end = state === 'failed' ? 'failed' : `was ${state}`;
    super(`the task ${end}${said === '' ? '' : `: ${said}`}`);
    this.task = task;
  }

  /** The state in which the task ended: `failed`, `rejected` or `canceled`. */
  get state(): TaskState {
    return this.task.status.state;
  }
}

/** The reason why a card's signature was not accepted. */
export type CardSignatureProblem =
  /** The card has no signature. */
  | 'unsigned'
  /** No signature was made with a key that is trusted. */
  | 'untrusted'
  /** The trusted keys could not be fetched. */
  | 'unavailable'
  /** A signature with a trusted key does not match the card. The card may have been changed after it was signed. */
  | 'invalid';

/** Means that the signature of an agent's card was not accepted. */
export class CardSignatureError extends Error {
  override readonly name = 'CardSignatureError';
  readonly reason: CardSignatureProblem;

  constructor(reason: CardSignatureProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** The reason why a remote agent gave no usable result. */
export type RemoteErrorCode =
  /** It could not be reached, it has no card or interface that can be used, or its connections kept breaking. */
  | 'remote-unreachable'
  /**
   * It refers or redirects to another origin, which must not receive our credentials, or the signature of its card was
   * not accepted.
   */
  | 'remote-untrusted'
  /** It did not accept the credentials. */
  | 'remote-unauthorized'
  /** It did not accept the message, or answered with another error. */
  | 'remote-refused'
  /** It violated the protocol. */
  | 'remote-invalid'
  /** It exceeded a limit. */
  | 'remote-limit'
  /** It took too long. */
  | 'remote-timeout'
  /** Its task ended in the state `failed`, `canceled` or `rejected`. */
  | 'remote-failed'
  | 'remote-canceled'
  | 'remote-rejected';

/**
 * Means that a remote agent gave no usable result. The error message contains text from the remote agent only in
 * shortened form.
 */
export class RemoteAgentError extends Error {
  override readonly name = 'RemoteAgentError';
  readonly code: RemoteErrorCode;

  constructor(code: RemoteErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Returns the code for an error, so that programs need not read its message. */
export function remoteErrorCode(error: unknown): RemoteErrorCode {
  if (error instanceof RemoteAgentError) return error.code;
  if (error instanceof ConnectionError) {
    if (error.reason === 'redirect' || error.reason === 'untrusted') return 'remote-untrusted';
    if (error.reason === 'timeout') return 'remote-timeout';
    return 'remote-unreachable';
  }
  if (error instanceof CardSignatureError) return 'remote-untrusted';
  if (!(error instanceof A2AError)) return 'remote-unreachable';
  if (error.kind === 'unauthenticated' || error.kind === 'forbidden') return 'remote-unauthorized';
  return error.kind === 'invalidAgentResponse' ? 'remote-invalid' : 'remote-refused';
}

/** Returns untrusted text on one line of at most `max` characters. */
export function quote(text: string, max = 500): string {
  const line = text
    .slice(0, max * 2)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .toWellFormed();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}
