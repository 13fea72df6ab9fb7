/**
 * Limits the bytes that wait in memory for clients, in total and per client. These are bodies and WebSocket frames that
 * are being received, and answers that were written but not read. Small bodies, frames and answers are not counted,
 * because the number of connections limits them.
 */
import { A2AError, type User } from '../protocol/index.ts';
import type { FullReply, TransportRequest } from './request.ts';

/** Bodies, frames and answers up to this size are not counted. */
export const UNCOUNTED_BYTES = 64 * 1024;

export interface PendingLimits {
  readonly maxPendingBytes: number;
  readonly maxPendingBytesPerClient: number;
}

export class PendingBytes {
  readonly #limits: PendingLimits;
  readonly #byClient = new Map<string, number>();
  #total = 0;

  constructor(limits: PendingLimits) {
    this.#limits = limits;
  }

  get total(): number {
    return this.#total;
  }

  /**
   * Counts more bytes of a client. Throws `rateLimited` if the client then exceeds its limit, or `unavailable` if all
   * clients together exceed the total. A limit is checked only while bytes of other bodies or answers are counted
   * against it. So even a small limit allows one large body or answer. `mine` is the number of bytes of the same body
   * that are already counted.
   */
  take(client: string, bytes: number, mine: number = 0): void {
    const held = this.#byClient.get(client) ?? 0;
    const { maxPendingBytes, maxPendingBytesPerClient } = this.#limits;
    if (held > mine && held + bytes > maxPendingBytesPerClient) {
      throw new A2AError(
        'rateLimited',
        'Too much data of your requests and answers is in transit: read the answers, or send fewer requests at a time',
        { retryAfterSeconds: 1 },
      );
    }
    if (this.#total > mine && this.#total + bytes > maxPendingBytes) {
      const message = 'Too much data of requests and answers is in transit';
      throw new A2AError('unavailable', message, { retryAfterSeconds: 1 });
    }
    this.#total += bytes;
    this.#byClient.set(client, held + bytes);
  }

  /** Stops counting bytes that `take` has counted. */
  give(client: string, bytes: number): void {
    if (bytes === 0) return;
    this.#total -= bytes;
    const left = (this.#byClient.get(client) ?? 0) - bytes;
    if (left <= 0) this.#byClient.delete(client);
    else this.#byClient.set(client, left);
  }
}

/** Returns the name under which a client's streams and bytes are counted. */
export function clientOf(user: User | undefined, request: Pick<TransportRequest, 'remote'>) {
  return user?.id ?? request.remote;
}

/** Counts a large answer. The adapter must call `release` when the client has read it. */
export function counted(
  pending: PendingBytes,
  request: TransportRequest,
  user: User | undefined,
  reply: FullReply,
): FullReply {
  if (reply.body.length <= UNCOUNTED_BYTES) return reply;
  const client = clientOf(user, request);
  const bytes = Buffer.byteLength(reply.body);
  pending.take(client, bytes);
  let held = true;
  const release = (): void => {
    if (held) pending.give(client, bytes);
    held = false;
  };
  return { ...reply, release };
}
