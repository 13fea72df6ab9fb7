/**
 * What can go wrong on the way to an agent. What the agent itself answers is an A2AError; what its caller aborts
 * rejects with the signal's own reason. So the three are told apart by `instanceof`.
 */

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
