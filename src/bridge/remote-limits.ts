/**
 * How much of a remote agent is borne with, and what is said when it is too much. Whatever a remote sends is data of a
 * stranger: it has an end in size, in number and in time.
 */
import { A2AError } from '../protocol/index.ts';
import { ConnectionError } from '../client/index.ts';

/** For one message and all that comes back for it. */
export interface RemoteLimits {
  /** On the wire, heartbeats included. Not counted for a `client` of your own. */
  readonly maxBytes?: number;
  /** One event on the wire. Not counted for a `client` of your own. */
  readonly maxEventBytes?: number;
  readonly maxEvents?: number;
  /** The text, the base64 and the JSON of an answer together. */
  readonly maxContentLength?: number;
  /** One text, the base64 of one file, the JSON of one piece of data. */
  readonly maxPartLength?: number;
  /** In one message, or one chunk of an artifact. */
  readonly maxParts?: number;
  readonly maxArtifacts?: number;
  /** A connection on which nothing comes for so long, not even a heartbeat, is given up and made anew. */
  readonly idleMs?: number;
  /** So long without anything new. Heartbeats are not news. */
  readonly quietMs?: number;
  /** Until the remote is done, or asks. */
  readonly totalMs?: number;
  /** For the remote to be told that its work is no longer wanted. */
  readonly cancelMs?: number;
}

const MEGABYTE = 2 ** 20;

export const REMOTE_LIMITS: Required<RemoteLimits> = {
  maxBytes: 64 * MEGABYTE,
  maxEventBytes: 24 * MEGABYTE,
  maxEvents: 100_000,
  maxContentLength: 24 * MEGABYTE,
  maxPartLength: 16 * MEGABYTE,
  maxParts: 1000,
  maxArtifacts: 200,
  idleMs: 60_000,
  quietMs: 10 * 60_000,
  totalMs: 60 * 60_000,
  cancelMs: 5000,
};

/** The longest that a timer can wait. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The limits that hold. Infinity is allowed; times end with the longest that a timer can wait. */
export function remoteLimits(given: RemoteLimits = {}): Required<RemoteLimits> {
  const limits = { ...REMOTE_LIMITS, ...given };
  for (const [name, value] of Object.entries(limits)) {
    if (!(value > 0)) throw new RangeError(`limits.${name} is a number above 0`);
  }
  const { idleMs, quietMs, totalMs, cancelMs } = limits;
  return {
    ...limits,
    idleMs: Math.min(idleMs, MAX_TIMER_MS),
    quietMs: Math.min(quietMs, MAX_TIMER_MS),
    totalMs: Math.min(totalMs, MAX_TIMER_MS),
    cancelMs: Math.min(cancelMs, MAX_TIMER_MS),
  };
}

export type RemoteErrorCode =
  /** No connection, or none for long enough. */
  | 'remote-unreachable'
  /** It leads to another origin, where our credentials must not go. */
  | 'remote-untrusted'
  /** It wants other credentials. */
  | 'remote-unauthorized'
  /** It did not take the message. */
  | 'remote-refused'
  /** What it sent breaks the protocol. */
  | 'remote-invalid'
  /** What it sent is too much. */
  | 'remote-limit'
  /** It took too long. */
  | 'remote-timeout'
  /** How its task ended. */
  | 'remote-failed'
  | 'remote-canceled'
  | 'remote-rejected';

/** Why a remote agent gave no answer. Words of the remote's own in it are quoted and short. */
export class RemoteAgentError extends Error {
  override readonly name = 'RemoteAgentError';
  readonly code: RemoteErrorCode;

  constructor(code: RemoteErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Whatever went wrong, as what the run's error event says. */
export function explain(error: unknown, agent: string): RemoteAgentError {
  const code = error instanceof RemoteAgentError ? error.code : codeOf(error);
  const said = quote(error instanceof Error ? error.message : String(error), 2 * MAX_QUOTE);
  return new RemoteAgentError(code, `the remote agent ${agent}: ${said}`, { cause: error });
}

function codeOf(error: unknown): RemoteErrorCode {
  if (error instanceof ConnectionError) {
    if (error.reason === 'redirect') return 'remote-untrusted';
    if (error.reason === 'timeout') return 'remote-timeout';
    return 'remote-unreachable';
  }
  if (!(error instanceof A2AError)) return 'remote-unreachable';
  if (error.kind === 'unauthenticated' || error.kind === 'forbidden') return 'remote-unauthorized';
  return error.kind === 'invalidAgentResponse' ? 'remote-invalid' : 'remote-refused';
}

const MAX_QUOTE = 500;

/** Words of a stranger on one short line. */
export function quote(text: string, max = MAX_QUOTE): string {
  const line = text
    .slice(0, max * 2)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .toWellFormed();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}
