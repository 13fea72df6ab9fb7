/**
 * Several nodes that share the tasks in a PostgreSQL database. The nodes communicate only through the database. Leases,
 * epochs, requests and cursors are rows, and NOTIFY sends only hints. Queries at regular intervals also find everything
 * that a hint reports. So the cluster works without LISTEN too, but with longer delays.
 */
import {
  fromPostgresRow,
  fromPostgresText,
  toPostgresText,
  type Postgres,
} from '../../base/postgres/index.ts';
import type {
  Append,
  ClusterMember,
  Logger,
  PushKey,
  StoreCluster,
  TaskHead,
  TaskKey,
} from '../../tasks/index.ts';
import type { WebhookSecrets } from '../webhook-secrets.ts';
import { pushValues, toHeads, type ScopedHeadRow } from './statements.ts';
import { type Hint, HintSender, readHint } from './hints.ts';
import { Mailbox } from './mailbox.ts';
import type { Membership } from './membership.ts';
import type { NodeDatabase } from './node-database.ts';
import { CLUSTER_SQL } from './cluster-statements.ts';
import { Releases } from './releases.ts';

/** The state of a node, for metrics. */
export interface ClusterStats {
  readonly node: string;
  /** Number of the other nodes that are alive. */
  readonly peers: number;
  /** Whether this node is the one that ends expired tasks and removes old ones. */
  readonly sweeps: boolean;
  /** Whether hints of other nodes arrive. */
  readonly listens: boolean;
  /** Time since the lease was renewed, in milliseconds. Infinity if the node has no lease. */
  readonly leaseAgeMs: number;
  /** Number of tasks of other nodes that are being read here. */
  readonly watched: number;
  /**
   * How long this node has been behind with the events of another node's task, in milliseconds. The greatest value of
   * all watched tasks.
   */
  readonly lagMs: number;
  /** Greatest number of events of one task that are known to be stored, and that this node has not read yet. */
  readonly lagEvents: number;
}

/**
 * Interval of the queries for tasks and requests while hints arrive. If hints do not arrive, these queries run after
 * each look at the nodes.
 */
const POLL_MS = 1000;
/** How long a node reports changes of its task to a node that reads the task. The reader asks again at each poll. */
const FOLLOW_MS = 5 * POLL_MS;
/** Maximum number of tasks whose changes are reported. The readers of further tasks find the changes when they poll. */
const MAX_FOLLOWED = 20_000;
/** Maximum number of requests for hints that wait until their nodes are known. */
const MAX_EARLY = 100;
/** Delay before a newly watched task is checked. One query checks all tasks that are watched within this time. */
const WATCH_MS = 2;
/** The answer to a request that this node cannot decrypt. */
const UNREADABLE = JSON.stringify({
  error: {
    kind: 'unavailable',
    message: 'The node that executes the task cannot read the message',
    detail: {},
  },
});

/** A task that clients read here, and that this node does not execute. */
interface Watched {
  /** Returns the sequence number of the last entry that was read here. */
  readonly seen: () => number;
  /** The owner of the task at the last check, or an empty string if it had none. Undefined before the first check. */
  node?: string;
  /**
   * Set when this node learns of entries that it has not read. `seq` is the number of the last of these entries, and
   * `since` is the time when the node fell behind. The node may have read the entries in the meantime.
   */
  behind?: { readonly seq: number; readonly since: number };
}

/** The cluster of a PostgreSQL store (`store.cluster`): the processes that use the store share its tasks. */
export class PostgresCluster implements StoreCluster {
  readonly leaseMs: number;
  readonly #db: Postgres;
  readonly #logger: Logger;
  readonly #hints: HintSender;
  readonly #members: Membership;
  readonly #mail: Mailbox;
  #member: ClusterMember | undefined;
  /** Resolves when this process has joined. Undefined if it has not tried, or if the last attempt failed. */
  #joined: Promise<void> | undefined;
  readonly #watched = new Map<string, Watched>();
  /** The nodes that read a task of this node, by task id, each with the time until which it is told of changes. */
  readonly #followers = new Map<string, Map<string, number>>();
  /** Requests for hints from nodes that are not known here. The node may have joined since the last look at the nodes. */
  readonly #early: { readonly from: string; readonly follow: readonly string[] }[] = [];
  /** The webhooks whose events this node delivers, by `pushName`. */
  readonly #pushes = new Map<string, PushKey>();
  readonly #releases: Releases;
  #watchTimer: NodeJS.Timeout | undefined;
  #polledAt = 0;
  /** The last result of `sweeps`. */
  #sweeps = false;
  /**
   * Until this time, the database may contain tasks of this node that this node does not know about. If a connection
   * is lost during a statement that takes over or creates tasks, the database may still execute the statement a while
   * later.
   */
  #uncertainUntil = 0;

  /** @internal */
  constructor({ db, members, leaseMs }: NodeDatabase, secrets: WebhookSecrets, logger: Logger) {
    this.leaseMs = leaseMs;
    this.#db = db;
    this.#logger = logger;
    this.#hints = new HintSender((channels, payloads) => members.notify(channels, payloads));
    this.#members = members;
    members.add({
      onNotification: (payload) => this.#notified(payload),
      onGone: () => this.#gone(),
      onExpelled: () => this.#expelled(),
      onLook: (isRenewal) => this.#look(isRenewal),
      onListening: () => this.#poll(),
    });
    this.#releases = new Releases(
      db,
      () => this.node,
      () => {
        this.#hints.tell(members.peers, { orphans: true });
        this.#member?.orphaned();
      },
    );
    this.#mail = new Mailbox({
      db,
      logger,
      secrets,
      node: () => this.node,
      answer: async (request) =>
        request === undefined ? UNREADABLE : ((await this.#member?.answer(request)) ?? '"moved"'),
      tell: (node) => this.#hints.tell([node], { mail: true }),
    });
  }

  get node(): string {
    return this.#members.id;
  }

  get hasLease(): boolean {
    return this.#members.hasLease;
  }

  /** The id of this node, or null if this process has not joined the cluster. */
  get member(): string | null {
    return this.#member ? this.node : null;
  }

  async sweeps(removesOld: boolean): Promise<boolean> {
    const { node } = this;
    const [row] = await this.#db.run<[node: string]>(CLUSTER_SQL.sweeper, [
      node,
      removesOld ? 2 : 1,
    ]);
    // If the lease has ended meanwhile, another node may do the work.
    return (this.#sweeps = row?.[0] === node && node === this.node);
  }

  stats(): ClusterStats {
    const { peers, listens, leaseAgeMs } = this.#members;
    const now = performance.now();
    let lagMs = 0;
    let lagEvents = 0;
    for (const { behind, seen } of this.#watched.values()) {
      const missing = behind ? behind.seq - seen() : 0;
      if (!behind || missing <= 0) continue;
      lagMs = Math.max(lagMs, now - behind.since);
      lagEvents = Math.max(lagEvents, missing);
    }
    const watched = this.#watched.size;
    const counts = { peers: peers.length, watched, lagMs, lagEvents };
    return { node: this.node, sweeps: this.#sweeps, listens, leaseAgeMs, ...counts };
  }

  async join(member: ClusterMember): Promise<void> {
    this.#member = member;
    await (this.#joined ??= this.#members.start().catch((error: unknown) => {
      this.#joined = undefined;
      throw error;
    }));
  }

  async leave(): Promise<void> {
    this.#member = undefined;
    clearTimeout(this.#watchTimer);
    this.#mail.close();
    const { peers } = this.#members;
    // The tasks are released here, because another part of this process may keep the lease. While the lease is valid,
    // the other nodes do not take over tasks of this node.
    await this.#db.run(CLUSTER_SQL.releaseAll, [this.node]).catch(() => undefined);
    if (this.#joined) await this.#members.stop();
    this.#joined = undefined;
    this.#hints.tell(peers, { orphans: true });
    this.#hints.close();
  }

  async claim(
    { taskId }: TaskKey,
    which: 'waiting' | 'interrupted',
  ): Promise<TaskHead | undefined> {
    const statement = which === 'waiting' ? CLUSTER_SQL.claim : CLUSTER_SQL.claimInterrupted;
    const rows = await this.#db.run<ScopedHeadRow>(statement, [toPostgresText(taskId), this.node]);
    return this.#moved(toHeads(rows))[0];
  }

  async takeOver(limit: number): Promise<readonly TaskHead[]> {
    const isUncertain = performance.now() < this.#uncertainUntil;
    try {
      const own = isUncertain ? await this.#releases.takeBack() : [];
      const rows = await this.#db.run<ScopedHeadRow>(CLUSTER_SQL.takeOver, [this.node, limit]);
      return [...own, ...this.#moved(toHeads(rows))];
    } catch (error) {
      this.#uncertainUntil = performance.now() + 3 * this.leaseMs;
      throw error;
    }
  }

  /** Tells the other nodes that this node owns these tasks now. Clients of the other nodes may read the tasks. */
  #moved(heads: readonly TaskHead[]): readonly TaskHead[] {
    const { peers } = this.#members;
    this.#hints.moved(
      peers,
      heads.map(({ taskId }) => taskId),
    );
    return heads;
  }

  release(taskId: string, epoch: number): void {
    this.#uncertainUntil = performance.now() + 3 * this.leaseMs;
    this.#releases.add(taskId, epoch);
  }

  watch(taskId: string, seen: () => number): void {
    this.#watched.set(taskId, { seen });
    this.#watchTimer ??= setTimeout(() => {
      this.#watchTimer = undefined;
      const isNew = ([, { node }]: [string, Watched]) => node === undefined;
      void this.#checkWatched([...this.#watched].filter(isNew).map(([id]) => id));
    }, WATCH_MS).unref();
  }

  unwatch(taskId: string): void {
    this.#watched.delete(taskId);
  }

  ask(
    node: string,
    request: string,
    signal?: AbortSignal,
    secrecy?: 'preferred' | 'required',
  ): Promise<string | undefined> {
    return this.#mail.ask(node, request, signal, secrecy);
  }

  async claimPush(key: PushKey): Promise<boolean> {
    const { node } = this;
    const rows = await this.#db.run(CLUSTER_SQL.claimPush, [...pushValues(key), node]);
    // If the lease has ended meanwhile, the claim has the old id of this node, so other nodes may claim the webhook.
    const isOwn = rows.length > 0 && node === this.node;
    if (isOwn) this.#pushes.set(pushName(key), key);
    return isOwn;
  }

  releasePush(key: PushKey): void {
    this.#pushes.delete(pushName(key));
    // If this fails, other nodes deliver the events when the lease of this node ends.
    this.#db.run(CLUSTER_SQL.releasePush, [...pushValues(key), this.node]).catch(() => undefined);
  }

  /** Called by the store after this node's appends. */
  appended(appends: readonly Pick<Append, 'taskId' | 'expected'>[]): void {
    if (this.#followers.size === 0 && !this.#releases.hasLate) return;
    const now = performance.now();
    for (const { taskId, expected } of appends) {
      if (expected > 0) this.#releases.found(taskId);
      const followers = this.#followers.get(taskId);
      if (!followers) continue;
      for (const [node, until] of followers) {
        if (until > now) this.#hints.changed(node, taskId);
        else followers.delete(node);
      }
      if (followers.size === 0) this.#followers.delete(taskId);
    }
  }

  /** Called by the store when a webhook was replaced or removed. Another node may be delivering its events. */
  pushChanged({ taskId, configId }: PushKey): void {
    this.#hints.tell(this.#members.peers, { push: [[taskId, configId]] });
  }

  #notified(payload: string): void {
    try {
      this.#hinted(readHint(payload));
    } catch (error) {
      this.#logger.debug({ err: error }, 'ignored a notification that is not a hint');
    }
  }

  #hinted({ changed, moved, follow, from, push, mail, orphans }: Hint): void {
    if (changed) {
      const watched = changed.filter((id) => this.#watched.has(id));
      for (const id of watched) fellBehind(this.#watched.get(id), 1);
      this.#member?.changed(watched);
    }
    if (moved) void this.#checkWatched(moved.filter((id) => this.#watched.has(id)));
    if (follow && from !== undefined) {
      if (this.#members.peers.includes(from)) this.#follow(follow, from);
      else if (this.#early.length < MAX_EARLY) this.#early.push({ from, follow });
    }
    if (push) this.#member?.pushChanged(push.map(([taskId, configId]) => ({ taskId, configId })));
    if (mail) void this.#mail.read();
    if (orphans) this.#member?.orphaned();
  }

  /**
   * Reports changes of tasks to another node for FOLLOW_MS. If a task was not reported to the other node before, it is
   * reported at once, because that node may have missed the latest changes.
   */
  #follow(taskIds: readonly string[], node: string): void {
    const until = performance.now() + FOLLOW_MS;
    for (const taskId of taskIds) {
      let followers = this.#followers.get(taskId);
      if (!followers) {
        if (this.#followers.size >= MAX_FOLLOWED) return;
        this.#followers.set(taskId, (followers = new Map()));
      }
      if (!followers.has(node)) this.#hints.changed(node, taskId);
      followers.set(node, until);
    }
  }

  #gone(): void {
    this.#mail.keepOnly(this.#members.peers);
    this.#member?.orphaned();
  }

  #expelled(): void {
    this.#sweeps = false;
    this.#mail.keepOnly([]);
    this.#pushes.clear();
    this.#releases.clear();
    this.#followers.clear();
    this.#member?.expelled();
  }

  #look(isRenewal: boolean): void {
    const { listens, leads, peers } = this.#members;
    for (const { from, follow } of this.#early.splice(0)) {
      if (peers.includes(from)) this.#follow(follow, from);
    }
    if (!listens || performance.now() - this.#polledAt >= POLL_MS) this.#poll();
    if (!isRenewal) return;
    this.#mail.keepOnly(peers);
    // The hint `orphans` may be lost. So orphaned tasks are looked for after each renewal.
    this.#member?.orphaned();
    void this.#releases.runLate();
    if (leads) this.#db.run(CLUSTER_SQL.forget).catch(() => undefined);
    const now = performance.now();
    for (const [taskId, followers] of this.#followers) {
      for (const [node, until] of followers) if (until <= now) followers.delete(node);
      if (followers.size === 0) this.#followers.delete(taskId);
    }
  }

  /**
   * Queries for everything that hints report, because hints may be lost. The exception is orphaned tasks (see `#look`).
   */
  #poll(): void {
    this.#polledAt = performance.now();
    void this.#mail.read();
    void this.#checkWatched([...this.#watched.keys()]);
    void this.#checkPushes();
    void this.#releases.run();
  }

  /**
   * Reports which of these watched tasks have entries that were not read here. Asks the owners of all these tasks to
   * send hints. Never rejects.
   */
  async #checkWatched(taskIds: readonly string[]): Promise<void> {
    if (taskIds.length === 0) return;
    try {
      const rows = await this.#db.run<[taskId: string, seq: number, node: string | null]>(
        CLUSTER_SQL.watched,
        [taskIds.map(toPostgresText)],
      );
      const changed: string[] = [];
      const owned = new Map<string, string[]>();
      for (const [stored, seq, node] of rows) {
        const taskId = fromPostgresText(stored);
        const watched = this.#watched.get(taskId);
        if (!watched) continue;
        if (seq > watched.seen()) {
          fellBehind(watched, seq - watched.seen());
          changed.push(taskId);
        }
        watched.node = node ?? '';
        if (node && node !== this.node) owned.set(node, [...(owned.get(node) ?? []), taskId]);
      }
      if (changed.length > 0) this.#member?.changed(changed);
      for (const [node, tasks] of owned) this.#hints.follow(node, this.node, tasks);
    } catch (error) {
      this.#logger.debug({ err: error }, 'failed to look for changes of other nodes');
    }
  }

  /**
   * Reports the webhooks whose events this node no longer delivers, because they were replaced or removed, or because
   * another node has claimed them. Never rejects.
   */
  async #checkPushes(): Promise<void> {
    if (this.#pushes.size === 0) return;
    const open = [...this.#pushes];
    try {
      const taskIds = [...new Set(open.map(([, { taskId }]) => toPostgresText(taskId)))];
      const rows = await this.#db.run<[string, string]>(CLUSTER_SQL.claimedPush, [
        this.node,
        taskIds,
      ]);
      const claimed = new Set(
        rows.map(([taskId, configId]) => pushName(fromPostgresRow({ taskId, configId }))),
      );
      const lost = open.filter(([name]) => !claimed.has(name) && this.#pushes.has(name));
      for (const [name] of lost) this.#pushes.delete(name);
      if (lost.length > 0) this.#member?.pushChanged(lost.map(([, key]) => key));
    } catch (error) {
      this.#logger.debug({ err: error }, 'failed to check the webhooks of this node');
    }
  }
}

/** Records that at least `entries` entries of the task are stored, but were not read here. */
function fellBehind(watched: Watched | undefined, entries: number): void {
  if (!watched) return;
  const seen = watched.seen();
  const { behind } = watched;
  const since = behind && behind.seq > seen ? behind.since : performance.now();
  watched.behind = { seq: Math.max(behind?.seq ?? 0, seen + entries), since };
}

function pushName({ taskId, configId }: PushKey): string {
  return JSON.stringify([taskId, configId]);
}
