/**
 * Tracks which nodes are alive.
 *
 * Each node has a lease in the database, on the database's clock, and renews it. If the lease of a node has ended, the
 * other nodes remove the node, and the next renewal of the lease fails. Then the node stops its work and joins again
 * under a new id. So a process that was paused for too long, or that could not reach the database, never continues
 * under its old id.
 *
 * A node also keeps a session (a connection of its own) that holds an advisory lock. When the process ends, the
 * database releases the lock at once, and the other nodes need not wait for the end of the lease. Behind a pooler, the
 * lock is not used.
 *
 * A process has one lease and one session for each database. Several parts of the process may use them, such as the
 * task store and the register of a gateway.
 */
import { randomUUIDv7 } from 'node:crypto';
import { pause } from '../../base/index.ts';
import type { Postgres, PostgresSession } from '../../base/postgres/index.ts';
import type { Logger } from '../../tasks/index.ts';
import { CLUSTER_SQL, SESSION_ID, TRY_LOCK } from './cluster-statements.ts';

/** Interval of the looks at the other nodes. If a quarter of the lease is shorter, it is used instead. */
const LOOK_MS = 250;
/** Number of renewals in the time of one lease. */
const RENEWALS = 4;
/** Delay before a lost session is opened again. */
const RECONNECT_MS = 50;
/**
 * How long the session of this node must exist before the lost lock of another node counts. After a restart of the
 * database, all nodes have lost their locks for a moment.
 */
const SETTLE_MS = 2000;
/** How long to wait for a ping, a notification that a node sends to itself. */
const PING_MS = 2000;
/** Maximum number of pings. A single ping may be lost or late. */
const MAX_PINGS = 2;
/** The prefix of a ping. */
const PING = 'ping ';

export interface MembershipOptions {
  readonly db: Postgres;
  readonly leaseMs: number;
  /** If false, the node has no session, and so neither a lock nor notifications. */
  readonly listen: boolean;
  readonly logger: Logger;
}

/** The callbacks of a part of the process that reacts to changes of the nodes. They must not throw. */
export interface MembershipListener {
  /** The channel of `onNotification`, on which all nodes listen. Default: this node's own channel (`channelOf`). */
  readonly channel?: string | undefined;
  /** Called for each notification on the channel. */
  readonly onNotification?: (payload: string) => void;
  /** Called when another node is gone, or when this node has joined again. */
  readonly onGone?: () => void;
  /** Called when the lease of this node has ended. */
  readonly onExpelled?: () => void;
  /** Called after each look at the other nodes. `isRenewal` is true if the lease was also renewed. */
  readonly onLook?: (isRenewal: boolean) => void;
  /** Called when the session of this node was opened, or opened again. Earlier notifications may be lost. */
  readonly onListening?: () => void;
}

/** Returns the name of the channel on which only this node listens. */
export function channelOf(node: string): string {
  return `parley_${node}`;
}

export class Membership {
  readonly #options: MembershipOptions;
  /** The id of this node. */
  id = newId();
  #number = 0;
  /** The ids of the other nodes that are alive. */
  peers: readonly string[] = [];
  /** Whether this node is the oldest one. */
  leads = false;
  /** Whether notifications arrive. */
  listens = false;
  /** The time until which the lease is certainly valid, on the monotonic clock. Undefined if there is no lease. */
  #validUntil: number | undefined;
  #renewAt = 0;
  /** The nodes that had lost their lock at the last look. */
  #suspects: ReadonlySet<string> = new Set();
  #session: PostgresSession | undefined;
  #sessionSince = Infinity;
  /** The last ping that this node has sent. */
  #ping: { readonly payload: string; readonly arrived: () => void } | undefined;
  readonly #listeners: MembershipListener[] = [];
  #users = 0;
  #started: Promise<void> | undefined;
  #looking = false;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /** @internal */
  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** Milliseconds since the lease was renewed, for metrics. Infinity if there is no lease. */
  get leaseAgeMs(): number {
    if (this.#validUntil === undefined) return Infinity;
    return performance.now() - (this.#validUntil - this.#options.leaseMs);
  }

  /** Whether the lease is certainly valid. */
  get hasLease(): boolean {
    return this.#validUntil !== undefined && performance.now() < this.#validUntil;
  }

  /** Adds a listener. Must be called before `start`, because only a new session listens on the listener's channel. */
  add(listener: MembershipListener): void {
    this.#listeners.push(listener);
  }

  /**
   * Joins the other nodes. After a failure, this method can be called again. Each part of the process whose call
   * succeeded must call `stop` later. The node leaves with the last `stop`.
   */
  async start(): Promise<void> {
    this.#users++;
    try {
      await (this.#started ??= this.#start());
    } catch (error) {
      this.#users--;
      throw error;
    }
  }

  async #start(): Promise<void> {
    try {
      await this.#join();
      await this.#look();
    } catch (error) {
      // Nothing renews this lease. The next attempt gets a new one.
      this.#started = undefined;
      this.#validUntil = undefined;
      await this.#session?.end().catch(() => undefined);
      throw error;
    }
    const every = Math.min(LOOK_MS, this.#options.leaseMs / RENEWALS);
    this.#timer = setInterval(() => void this.#tick(), every).unref();
  }

  /** Gives up the lease, if no other part of the process needs it. Never throws. */
  async stop(): Promise<void> {
    this.#users--;
    if (this.#users > 0) return;
    this.#stopped = true;
    clearInterval(this.#timer);
    this.#validUntil = undefined;
    const { db } = this.#options;
    await db.run(CLUSTER_SQL.leave, [this.id]).catch(() => undefined);
    await this.#session?.end().catch(() => undefined);
  }

  /** Sends notifications. */
  async notify(channels: readonly string[], payloads: readonly string[]): Promise<void> {
    await this.#options.db.run(CLUSTER_SQL.notify, [channels, payloads]);
  }

  async #join(): Promise<void> {
    const { db, leaseMs, listen } = this.#options;
    const sentAt = performance.now();
    const id = newId();
    const [row] = await db.run<[number: number]>(CLUSTER_SQL.join, [id, leaseMs]);
    this.id = id;
    this.#number = row?.[0] ?? 0;
    this.#validUntil = sentAt + leaseMs;
    this.#renewAt = sentAt + leaseMs / RENEWALS;
    await db.run(CLUSTER_SQL.adopt);
    if (listen) void this.#keepSession(id);
  }

  /** Runs at least every LOOK_MS. Never throws. */
  async #tick(): Promise<void> {
    const { logger } = this.#options;
    if (this.#validUntil !== undefined && performance.now() >= this.#validUntil) {
      logger.warn({ node: this.id }, 'the lease of this node has ended: its tasks are stopped');
      this.#expel();
    }
    if (this.#looking) return;
    this.#looking = true;
    try {
      if (this.#validUntil === undefined) {
        await this.#join();
        logger.info({ node: this.id }, 'joined the other nodes again');
        for (const { onGone } of this.#listeners) onGone?.();
      }
      await this.#look();
    } catch (error) {
      logger.debug({ err: error }, 'failed to reach the other nodes');
    } finally {
      this.#looking = false;
    }
  }

  /** Renews the lease if it is time, and finds out which nodes are alive. */
  async #look(): Promise<void> {
    const { db, leaseMs, logger } = this.#options;
    const isRenewal = performance.now() >= this.#renewAt;
    if (isRenewal) {
      const sentAt = performance.now();
      const [row] = await db.run(CLUSTER_SQL.renew, [this.id, leaseMs]);
      if (!row) {
        logger.warn(
          { node: this.id },
          'the lease of this node has ended, or other nodes have removed it: its tasks are stopped',
        );
        return this.#expel();
      }
      if (this.#validUntil === undefined) return;
      this.#validUntil = sentAt + leaseMs;
      this.#renewAt = sentAt + leaseMs / RENEWALS;
    }
    const rows = await db.run<[id: string, valid: boolean, lostLock: boolean]>(CLUSTER_SQL.nodes, [
      this.id,
    ]);
    const locksCount = performance.now() - this.#sessionSince > SETTLE_MS;
    const lost = new Set(rows.filter(([, , lostLock]) => locksCount && lostLock).map(([id]) => id));
    // A node that loses its connection opens another one. So a missing lock means that a node is gone only if the lock
    // is missing at two looks in a row.
    const gone = rows
      .filter(([id, valid]) => !valid || (lost.has(id) && this.#suspects.has(id)))
      .map(([id]) => id);
    this.#suspects = lost;
    const alive = rows.flatMap(([id]) => (gone.includes(id) ? [] : [id]));
    const left = this.peers.filter((peer) => !alive.includes(peer) && !gone.includes(peer));
    this.leads = alive[0] === this.id;
    this.peers = alive.filter((id) => id !== this.id);
    if (gone.length > 0) await db.run(CLUSTER_SQL.remove, [gone]);
    if (gone.length > 0) logger.warn({ nodes: gone }, 'nodes are gone: their tasks are taken over');
    if (left.length > 0)
      logger.info({ nodes: left }, 'nodes have left, or others have removed them');
    const isFewer = gone.length > 0 || left.length > 0;
    for (const { onGone, onLook } of this.#listeners) {
      if (isFewer) onGone?.();
      onLook?.(isRenewal);
    }
  }

  #expel(): void {
    if (this.#validUntil === undefined) return;
    this.#validUntil = undefined;
    this.leads = false;
    void this.#session?.end().catch(() => undefined);
    for (const { onExpelled } of this.#listeners) onExpelled?.();
  }

  /** Keeps a session open, and opens a new one if it is lost, as long as the node has this id. Never throws. */
  async #keepSession(id: string): Promise<void> {
    const { db, logger } = this.#options;
    const isNeeded = () => !this.#stopped && this.id === id && this.#validUntil !== undefined;
    while (isNeeded()) {
      try {
        await using session = await db.session();
        // The lease may have ended while the session was opened.
        if (!isNeeded()) return;
        this.#session = session;
        await this.#listen(session, id);
        await session.ended;
      } catch (error) {
        logger.debug({ err: error }, 'the session of this node has ended');
      }
      this.#sessionSince = Infinity;
      this.listens = false;
      // Until there is a new session, only the lease counts. If the lost lock counted, a node that cannot open a
      // session, for example because the database has no free connection, would be treated as gone although it can
      // renew its lease.
      if (isNeeded()) await db.run(CLUSTER_SQL.setLocked, [id, false]).catch(() => undefined);
      await pause(RECONNECT_MS);
    }
  }

  async #listen(session: PostgresSession, id: string): Promise<void> {
    const { db } = this.#options;
    const own = channelOf(id);
    session.onNotification((channel, payload) => {
      if (channel === own && payload.startsWith(PING)) {
        // A ping that arrives after the next one was sent has no effect.
        if (payload === this.#ping?.payload) this.#ping.arrived();
        return;
      }
      for (const listener of this.#listeners) {
        if ((listener.channel ?? own) === channel) listener.onNotification?.(payload);
      }
    });
    // If the database has not noticed yet that an earlier session of this node has ended, that session still has the
    // lock. Then this session does without a lock.
    const [lock] = await session.query<{ locked: boolean }>(TRY_LOCK, [this.#number]);
    const channels = new Set(this.#listeners.map(({ channel }) => channel ?? own)).add(own);
    for (const channel of channels) await session.query(`LISTEN ${channel}`);
    const [before] = await session.query<{ pid: number }>(SESSION_ID);
    let isDirect = false;
    for (let tries = 0; tries < MAX_PINGS && !isDirect; tries++)
      isDirect = await this.#arrives(own);
    const [after] = await session.query<{ pid: number }>(SESSION_ID);
    this.listens = isDirect;
    // Behind a pooler, the lock may belong to a server connection that other clients also use. Then the lock does not
    // show whether this node is alive, so it is not used.
    const isLocked = isDirect && lock?.locked === true && before?.pid === after?.pid;
    await db.run(CLUSTER_SQL.setLocked, [id, isLocked]);
    this.#sessionSince = performance.now();
    for (const { onListening } of this.#listeners) onListening?.();
  }

  /** Sends a ping. Returns whether it arrives in time. */
  async #arrives(channel: string): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const payload = `${PING}${randomUUIDv7()}`;
    this.#ping = { payload, arrived: resolve };
    await this.notify([channel], [payload]);
    return Promise.race([promise.then(() => true), pause(PING_MS).then(() => false)]);
  }
}

function newId(): string {
  return randomUUIDv7().replaceAll('-', '');
}
