/**
 * Hints between nodes, sent with NOTIFY. A hint only says that there is something to read, so a lost hint causes a
 * delay and no loss. Hints are sent outside the transactions of appends. Hints about changed tasks are collected for a
 * short time.
 */
import { isObject } from '../../base/index.ts';
import { channelOf, type Membership } from './membership.ts';

/** The content of a hint. */
export interface Hint {
  /** Ids of tasks that may have new entries. */
  readonly changed?: readonly string[] | undefined;
  /** Ids of tasks that have a new owner. A node that reads such a task asks the new owner to report the changes. */
  readonly moved?: readonly string[] | undefined;
  /** Ids of tasks. The node `from` asks the receiver to report changes of these tasks. */
  readonly follow?: readonly string[] | undefined;
  /** The id of the node that sends `follow`. */
  readonly from?: string | undefined;
  /** Webhooks that were replaced or removed, as pairs of task id and configuration id. */
  readonly push?: readonly (readonly [string, string])[] | undefined;
  /** There are requests or answers to read. */
  readonly mail?: boolean | undefined;
  /** There are tasks to take over. */
  readonly orphans?: boolean | undefined;
}

/** Minimum time between two notifications of changes. The changes in between are collected. */
const COLLECT_MS = 10;
/** Maximum number of characters of the ids in a notification. PostgreSQL refuses 8000 bytes or more. */
const MAX_CHARS = 2000;

/** Reads a hint. Throws if the text is not a hint, because every user of the database can send notifications. */
export function readHint(text: string): Hint {
  const hint: unknown = JSON.parse(text);
  if (!isHint(hint)) throw new Error('not a hint');
  return hint;
}

function isHint(value: unknown): value is Hint {
  if (!isObject(value)) return false;
  const { changed, moved, follow, from, push = [] } = value;
  return (
    [changed, moved, follow].every((ids) => ids === undefined || isIds(ids)) &&
    (from === undefined || typeof from === 'string') &&
    Array.isArray(push) &&
    push.every((key) => isIds(key) && key.length === 2)
  );
}

function isIds(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((id) => typeof id === 'string');
}

/** Collects hints and sends them. */
export class HintSender {
  readonly #send: Membership['notify'];
  /** The ids of tasks that have changed, by the id of the node that must be told. */
  readonly #changed = new Map<string, Set<string>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(send: Membership['notify']) {
    this.#send = send;
  }

  /** Tells a node that a task has changed. The hint is collected with others and sent within COLLECT_MS. */
  changed(node: string, taskId: string): void {
    let tasks = this.#changed.get(node);
    if (!tasks) this.#changed.set(node, (tasks = new Set()));
    tasks.add(taskId);
    // If no notification was sent in the last COLLECT_MS, the changes are sent right after this turn of the event loop.
    this.#timer ??= setTimeout(() => this.#flush(), 0).unref();
  }

  /** Sends a hint to nodes at once. Never throws. */
  tell(nodes: readonly string[], hint: Hint): void {
    if (nodes.length === 0) return;
    const payload = JSON.stringify(hint);
    this.#post(
      nodes.map(channelOf),
      nodes.map(() => payload),
    );
  }

  /** Asks a node to report changes of these tasks. */
  follow(node: string, from: string, taskIds: readonly string[]): void {
    for (const follow of pieces(taskIds)) this.tell([node], { follow, from });
  }

  /** Tells nodes that this node is the new owner of these tasks. */
  moved(nodes: readonly string[], taskIds: readonly string[]): void {
    for (const moved of pieces(taskIds)) this.tell(nodes, { moved });
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#changed.clear();
  }

  #flush(): void {
    this.#timer = undefined;
    if (this.#changed.size === 0) return;
    this.#timer = setTimeout(() => this.#flush(), COLLECT_MS).unref();
    const channels: string[] = [];
    const payloads: string[] = [];
    for (const [node, tasks] of this.#changed) {
      for (const changed of pieces([...tasks])) {
        channels.push(channelOf(node));
        payloads.push(JSON.stringify({ changed }));
      }
    }
    this.#changed.clear();
    this.#post(channels, payloads);
  }

  #post(channels: readonly string[], payloads: readonly string[]): void {
    // A lost hint causes only a delay.
    this.#send(channels, payloads).catch(() => undefined);
  }
}

/** Splits ids into lists that fit into a notification. Too long ids are left out: polling finds their changes. */
function* pieces(ids: readonly string[]): Generator<string[]> {
  let piece: string[] = [];
  let length = 0;
  for (const id of ids) {
    if (id.length > MAX_CHARS) continue;
    if (length + id.length > MAX_CHARS) {
      yield piece;
      piece = [];
      length = 0;
    }
    piece.push(id);
    length += id.length + 3;
  }
  if (piece.length > 0) yield piece;
}
