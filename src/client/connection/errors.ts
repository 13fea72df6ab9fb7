/**
 * What can go wrong on the way to an agent. What the agent itself answers is an A2AError; what its caller aborts
 * rejects with the signal's own reason. So the three are told apart by `instanceof`.
 */

import { A2AError } from '../../protocol/index.ts';

/** Why there is no working connection. */
export type ConnectionFailure =
  /** No answer at all: refused, unknown host, TLS, CORS. */
  | 'unreachable'
  /** The connection went away in the middle of an answer. */
  | 'broken'
  /** Nothing came for too long. */
  | 'timeout'
  /** The agent sent us elsewhere, and credentials do not follow. */
  | 'redirect'
  /** No agent card was found. */
  | 'card'
  /** The card offers nothing that we speak. */
  | 'interface'
  /** This client was closed. */
  | 'closed';

/** The agent could not be reached, or not for long enough. `cause` is what the runtime said. */
export class ConnectionError extends Error {
  readonly reason: ConnectionFailure;

  constructor(reason: ConnectionFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ConnectionError';
    this.reason = reason;
  }
}

/**
 * A stream ended before the agent was done, and could not be taken up again. The work goes on at the agent's:
 * `get(taskId)` shows how far it came, `resubscribe(taskId, { after: lastSeq })` goes on where this stream stopped.
 */
export class StreamInterruptedError extends ConnectionError {
  /** Absent when the stream broke before its first event: then nobody knows whether the message arrived. */
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

/** Why a remote agent gave no usable result. */
export type RemoteErrorCode =
  /** No connection, or none for long enough. */
  | 'remote-unreachable'
  /** It leads to another origin, which must not receive our credentials. */
  | 'remote-untrusted'
  /** It requires other credentials. */
  | 'remote-unauthorized'
  /** It did not accept the message. */
  | 'remote-refused'
  /** It broke the protocol. */
  | 'remote-invalid'
  /** It exceeded a limit. */
  | 'remote-limit'
  /** It took too long. */
  | 'remote-timeout'
  /** How its task ended. */
  | 'remote-failed'
  | 'remote-canceled'
  | 'remote-rejected';

/** A remote agent gave no usable result. Text from the remote is quoted in the message, and short. */
export class RemoteAgentError extends Error {
  override readonly name = 'RemoteAgentError';
  readonly code: RemoteErrorCode;

  constructor(code: RemoteErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The error's code for programs. */
export function remoteErrorCode(error: unknown): RemoteErrorCode {
  if (error instanceof RemoteAgentError) return error.code;
  if (error instanceof ConnectionError) {
    if (error.reason === 'redirect') return 'remote-untrusted';
    if (error.reason === 'timeout') return 'remote-timeout';
    return 'remote-unreachable';
  }
  if (!(error instanceof A2AError)) return 'remote-unreachable';
  if (error.kind === 'unauthenticated' || error.kind === 'forbidden') return 'remote-unauthorized';
  return error.kind === 'invalidAgentResponse' ? 'remote-invalid' : 'remote-refused';
}

/** Untrusted text on one line of at most `max` characters. */
export function quote(text: string, max = 500): string {
  const line = text
    .slice(0, max * 2)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .toWellFormed();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}
