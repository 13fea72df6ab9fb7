/**
 * Encodes the frames for the clients on `/ws`. The latest event and the latest presence are encoded once for all
 * clients. Earlier events are not cached, because only clients that are behind read them.
 */
import type { LiveClient, LiveSnapshot } from '../client/session.ts';
import { codecOf, type Task } from '../../protocol/index.ts';
import type { Opening, Published } from '../../tasks/index.ts';
import type { Presence } from '../session-reader.ts';

export const WIRE = codecOf('0.3', 'JSONRPC');

export class LiveFrames {
  #entry: Published | Opening | undefined;
  #event: Uint8Array = new Uint8Array();
  #presence: Presence | undefined;
  #presenceFrame: Uint8Array = new Uint8Array();

  event(taskId: string, entry: Published | Opening): Uint8Array {
    if (entry === this.#entry) return this.#event;
    this.#entry = entry;
    const at = `{"taskId":${JSON.stringify(taskId)},"seq":${entry.seq}`;
    this.#event = Buffer.from(
      `{"jsonrpc":"2.0","method":"tasks/event","params":${at},"event":${entry.text(WIRE)}}}`,
    );
    return this.#event;
  }

  presence(presence: Presence): Uint8Array {
    if (presence === this.#presence) return this.#presenceFrame;
    this.#presence = presence;
    this.#presenceFrame = Buffer.from(notification('session/presence', presence));
    return this.#presenceFrame;
  }
}

/** Encodes a snapshot, with at most `history` messages, the newest ones. */
export function snapshotFrame(whole: LiveSnapshot, self: LiveClient, history?: number): string {
  const snapshot = history === undefined ? whole : limited(whole, history);
  const task = WIRE.encodeEvent(snapshot.task);
  const earlier = snapshot.earlier?.map((each) => WIRE.encodeEvent(each));
  return notification('session/snapshot', { ...snapshot, task, earlier, self });
}

function limited(snapshot: LiveSnapshot, limit: number): LiveSnapshot {
  let left = limit;
  let { omitted = 0 } = snapshot;
  const cut = (task: Task): Task => {
    const { history = [] } = task;
    const kept = Math.min(history.length, left);
    left -= kept;
    omitted += history.length - kept;
    return { ...task, history: history.slice(history.length - kept) };
  };
  const task = cut(snapshot.task);
  const earlier = snapshot.earlier?.toReversed().map(cut).toReversed();
  return {
    ...snapshot,
    task,
    ...(earlier && { earlier: earlier.filter(({ history = [] }) => history.length > 0) }),
    ...(omitted > 0 && { omitted }),
  };
}

function notification(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params });
}
