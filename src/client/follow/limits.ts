/** What a remote agent may send for one message: limits on size, number and time. */
import { MAX_TIMER_MS } from '../../base/index.ts';
import { RemoteAgentError } from '../connection/errors.ts';
import type { Lifetime } from '../connection/request.ts';

/** How much a remote agent may send, and how long it may take. */
export interface RemoteLimits {
  /** All bytes on the wire, including heartbeats. Not counted for a `client` of your own. */
  readonly maxBytes?: number;
  /** The bytes of one event. Not counted for a `client` of your own. */
  readonly maxEventBytes?: number;
  readonly maxEvents?: number;
  /** The text, base64 and JSON of all parts together. */
  readonly maxContentLength?: number;
  /** One text, the base64 of one file, or the JSON of one data part. */
  readonly maxPartLength?: number;
  /** The parts of one message or one artifact chunk. */
  readonly maxParts?: number;
  readonly maxArtifacts?: number;
  /** A connection that is silent for this long, without even a heartbeat, is closed and opened again. */
  readonly idleMs?: number;
  /** The longest time without anything new. Heartbeats do not count. */
  readonly quietMs?: number;
  /** The longest time until the remote finishes or asks. */
  readonly totalMs?: number;
  /** The longest time for telling the remote to cancel. */
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

/** Fills in the defaults. Infinity is allowed; times are capped at the longest delay of a timer. */
export function remoteLimits(given: RemoteLimits = {}): Required<RemoteLimits> {
  const limits = { ...REMOTE_LIMITS, ...given };
  for (const [name, value] of Object.entries(limits)) {
    if (!(value > 0)) throw new RangeError(`limits.${name} must be a number above 0, not ${value}`);
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

/** Ends the lifetime after `totalMs`, and after `quietMs` without anything new. */
export function limitTime(lifetime: Lifetime, limits: Required<RemoteLimits>): void {
  const why = `it was not done within ${limits.totalMs} ms`;
  lifetime.totalTimeout(limits.totalMs, () => new RemoteAgentError('remote-timeout', why));
  limitSilence(lifetime, limits);
}

/** Ends the lifetime after `quietMs` without anything new. */
export function limitSilence(lifetime: Lifetime, { quietMs }: Required<RemoteLimits>): void {
  const why = `it sent nothing new within ${quietMs} ms`;
  lifetime.idleTimeout(quietMs, () => new RemoteAgentError('remote-timeout', why));
}
