/**
 * Requests between nodes, in a table. A request is addressed to the id of a node. If that node is gone, `ask` returns
 * undefined, and the sender must look for the node that executes the task now.
 */
import { backoffMs, pause } from '../../base/index.ts';
import { fromPostgresText, toPostgresText, type Postgres } from '../../base/postgres/index.ts';
import type { Logger } from '../../tasks/index.ts';
import type { WebhookSecrets } from '../webhook-secrets.ts';
import { CLUSTER_SQL } from './cluster-statements.ts';

/** A request of this node that has no answer yet. */
interface Waiting {
  /** The id of the node to which the request is addressed. */
  readonly node: string;
  readonly since: number;
  /**
   * Called with the answer, or with undefined if `node` is gone or has not answered in time, or if the mailbox is
   * closed.
   */
  readonly resolve: (answer: string | undefined) => void;
}

export interface MailboxOptions {
  readonly db: Postgres;
  readonly logger: Logger;
  /** Encrypts requests. */
  readonly secrets: WebhookSecrets;
  /** The id of this node. */
  readonly node: () => string;
  /**
   * Returns the answer to a request of another node. `request` is undefined if it cannot be decrypted. Must not throw.
   */
  readonly answer: (request: string | undefined) => Promise<string>;
  /** Sends a node the hint that there are requests or answers for it. */
  readonly tell: (node: string) => void;
}

/** How long a request to a live node waits for its answer. The first `keepOnly` after this time ends the request. */
const MAX_WAIT_MS = 60_000;
/** Maximum number of attempts to write an answer to the database. */
const MAX_TRIES = 10;
/** The prefix of an encrypted request. Requests without it are JSON. */
const SEALED = 'sealed ';

export class Mailbox {
  readonly #options: MailboxOptions;
  readonly #waiting = new Map<number, Waiting>();
  #closed = false;
  #reading = false;
  #again = false;
  /** The ids of the requests that this node is executing. */
  readonly #handled = new Set<number>();
  /**
   * Whether the last `take` statement failed. If the connection was lost, the statement may have marked requests as
   * taken although this node did not receive them.
   */
  #isUncertain = false;

  constructor(options: MailboxOptions) {
    this.#options = options;
  }

  /**
   * Sends a request and waits for the answer. Returns undefined if `node` is gone or does not answer in time, or if
   * this mailbox is closed. Throws the signal's reason if the signal is aborted. See `StoreCluster.ask` for `secrecy`.
   */
  async ask(
    node: string,
    request: string,
    signal?: AbortSignal,
    secrecy?: 'preferred' | 'required',
  ): Promise<string | undefined> {
    const { db, tell, secrets } = this.#options;
    signal?.throwIfAborted();
    const sealed = secrecy ? secrets.sealRequest(request, node, secrecy === 'required') : request;
    const body =
      typeof sealed === 'string'
        ? toPostgresText(sealed)
        : SEALED + Buffer.from(sealed).toString('base64');
    const values = [node, this.#options.node(), body];
    const [row] = await db.run<[id: number]>(CLUSTER_SQL.ask, values);
    if (!row || this.#closed) return undefined;
    const [id] = row;
    const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
    const onAbort = () => reject(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#waiting.set(id, { node, since: performance.now(), resolve });
    // The signal may have been aborted while the request was stored.
    if (signal?.aborted) onAbort();
    else tell(node);
    try {
      return await promise;
    } finally {
      this.#waiting.delete(id);
      // If this fails, the request is removed later (`forget`).
      db.run(CLUSTER_SQL.withdraw, [id]).catch(() => undefined);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /**
   * Ends the requests to nodes that are not in `nodes`, because they are gone. Also ends requests that waited too long.
   */
  keepOnly(nodes: readonly string[]): void {
    const oldest = performance.now() - MAX_WAIT_MS;
    for (const { node, since, resolve } of this.#waiting.values()) {
      if (!nodes.includes(node) || since < oldest) resolve(undefined);
    }
  }

  /** Reads the requests and the answers for this node. Starts to execute the requests. Never throws. */
  async read(): Promise<void> {
    this.#again = true;
    if (this.#reading || this.#closed) return;
    this.#reading = true;
    try {
      while (this.#again && !this.#closed) {
        this.#again = false;
        await this.#read();
      }
    } catch (error) {
      this.#options.logger.debug({ err: error }, 'failed to read the requests of other nodes');
    } finally {
      this.#reading = false;
    }
  }

  async #read(): Promise<void> {
    const { db } = this.#options;
    const node = this.#options.node();
    const run = (statement: typeof CLUSTER_SQL.take) =>
      db.run<[id: number, body: string]>(statement, [node]);
    const taken = this.#isUncertain ? await run(CLUSTER_SQL.taken) : [];
    this.#isUncertain = true;
    const requests = await run(CLUSTER_SQL.take);
    this.#isUncertain = false;
    for (const [id, body] of [...taken, ...requests]) {
      if (!this.#handled.has(id)) void this.#handle(id, this.#opened(body, node));
    }
    if (this.#waiting.size === 0) return;
    for (const [id, answer] of await db.run<[id: number, answer: string]>(CLUSTER_SQL.answers, [
      node,
    ])) {
      this.#waiting.get(id)?.resolve(fromPostgresText(answer));
    }
  }

  #opened(body: string, node: string): string | undefined {
    if (!body.startsWith(SEALED)) return fromPostgresText(body);
    const sealed = Buffer.from(body.slice(SEALED.length), 'base64');
    return this.#options.secrets.openRequest(sealed, node);
  }

  async #handle(id: number, body: string | undefined): Promise<void> {
    const { db, answer, tell, logger } = this.#options;
    this.#handled.add(id);
    using _handled = { [Symbol.dispose]: () => this.#handled.delete(id) };
    const text = toPostgresText(await answer(body));
    for (let attempt = 1; ; attempt++) {
      try {
        const [row] = await db.run<[sender: string]>(CLUSTER_SQL.answer, [id, text]);
        if (row) tell(row[0]);
        return;
      } catch (error) {
        // Without an answer, the sender gives up after MAX_WAIT_MS, or when the lease of this node has ended.
        if (attempt === MAX_TRIES || this.#closed) {
          logger.error({ err: error }, 'failed to answer another node');
          return;
        }
        await pause(backoffMs(attempt, 50, 2000));
      }
    }
  }

  close(): void {
    this.#closed = true;
    this.keepOnly([]);
  }
}
