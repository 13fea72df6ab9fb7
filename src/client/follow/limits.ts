/** Limits on the size, number and time of a remote agent's events for one message. */
import { MAX_TIMER_MS } from '../../base/index.ts';
import { RemoteAgentError } from '../connection/errors.ts';
import type { Lifetime } from '../connection/request.ts';

/** The limits on the amount of data that a remote agent may send, and on the time that it may take. */
export interface RemoteLimits {
  /** Maximum number of received bytes, including heartbeats. Not checked if you provide your own `client`. */
  readonly maxBytes?: number;
  /** Maximum size of one event in bytes. Not checked if you provide your own `client`. */
  readonly maxEventBytes?: number;
  readonly maxEvents?: number;
  /** Maximum length of all parts together, in characters of text, base64 and JSON. */
  readonly maxContentLength?: number;
  /** Maximum length of one text, of the base64 of one file, or of the JSON of one data part. */
  readonly maxPartLength?: number;
  /** Maximum number of parts in one message or one artifact chunk. */
  readonly maxParts?: number;
  readonly maxArtifacts?: number;
  /** How long a connection may be silent, without even a heartbeat, before it is closed and opened again. */
  readonly idleMs?: number;
  /** Maximum time without new data. Heartbeats do not count as new data. */
  readonly quietMs?: number;
  /** Maximum time until the remote agent finishes or asks a question. */
  readonly totalMs?: number;
  /** Maximum time for a cancel request to the remote agent. */
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

/**
 * Fills in the defaults. Infinity is allowed, but times are limited to the maximum delay of a timer. Throws a
 * RangeError if a limit is not above 0.
 */
export function remoteLimits(given: RemoteLimits = {}): Required<RemoteLimits> {
  const limits = { ...REMOTE_LIMITS, ...given };
  for (const [name, value] of Object.entries(limits)) {
    if (!(value > 0)) throw new RangeError(`limits.${name} must be a number above 0, not ${value}`);
  }
  for (const name of ['idleMs', 'quietMs', 'totalMs', 'cancelMs'] as const) {
    limits[name] = Math.min(limits[name], MAX_TIMER_MS);
  }
  return limits;
}

/** Ends the lifetime after `totalMs`, or after `quietMs` without new data. */
export function limitTime(lifetime: Lifetime, limits: Required<RemoteLimits>): void {
  // `quietMs` is usually shorter than `totalMs`. If the shorter limit is set first, one timer serves both limits.
  limitSilence(lifetime, limits);
  const { totalMs } = limits;
  lifetime.totalTimeout(
    totalMs,
    () => new RemoteAgentError('remote-timeout', `it was not done within ${totalMs} ms`),
  );
}

/** Ends the lifetime after `quietMs` without new data. */
export function limitSilence(lifetime: Lifetime, { quietMs }: Required<RemoteLimits>): void {
  lifetime.idleTimeout(
    quietMs,
    () => new RemoteAgentError('remote-timeout', `it sent nothing new within ${quietMs} ms`),
  );
}
