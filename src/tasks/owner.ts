/**
 * Requests to the node that executes a task. That node handles them as if they had come from its own clients. The node
 * that sent a request then reads the new events from the task's log.
 */
import { pause } from '../base/index.ts';
import {
  A2AError,
  type Call,
  type ErrorDetail,
  type ErrorKind,
  type MessageSendParams,
} from '../protocol/index.ts';
import type { EventLog } from './log/event-log.ts';
import type { LiveTask } from './log/live-task.ts';
import type { TaskKey } from './store/store.ts';

/** How a task is stopped. */
export type StopKind = 'cancel' | 'expire';

/** A request to the node that executes a task. */
export type OwnerRequest =
  | { readonly kind: StopKind; readonly task: TaskKey }
  | {
      readonly kind: 'send';
      readonly params: MessageSendParams;
      readonly call: Pick<Call, 'user' | 'extensions' | 'version' | 'base'>;
    };

/** What that node has done. `after` is the sequence number of the entry after which the log must be read. */
export interface OwnerResult {
  readonly stopped?: boolean;
  readonly after?: number;
  readonly repeated?: boolean | undefined;
  readonly brief?: boolean | undefined;
}

/** The answer to an `OwnerRequest`. `moved`: the node that got the request does not execute the task. */
export type OwnerAnswer =
  | 'moved'
  | { readonly result: OwnerResult }
  | { readonly error: { kind: ErrorKind; message: string; detail: ErrorDetail } };

/** The delay before the owner of a task is looked up again, in milliseconds. */
const RETRY_MS = 50;

/** Means that a request of another node came to a node that does not execute the task. */
export class NotOwnerError extends Error {
  override readonly name = 'NotOwnerError';
}

/**
 * Lets the node that executes the task handle a request. If that node is gone, waits until another node has taken over
 * the task. Throws the A2AError `unavailable` if this takes longer than three leases. Returns undefined if no other
 * node executes the task any more.
 */
export async function executeElsewhere(
  log: EventLog,
  live: LiveTask,
  request: OwnerRequest,
  signal?: AbortSignal,
): Promise<OwnerResult | undefined> {
  const { cluster } = log;
  if (!cluster) return undefined;
  const body = JSON.stringify(request);
  const secrecy = secrecyOf(request);
  const until = performance.now() + 3 * cluster.leaseMs;
  while (live.runsElsewhere) {
    const { node = '' } = live;
    const text = node === cluster.node ? undefined : await cluster.ask(node, body, signal, secrecy);
    const answer: OwnerAnswer | undefined = text === undefined ? undefined : JSON.parse(text);
    if (answer !== undefined && answer !== 'moved') {
      await log.refresh(live);
      if ('result' in answer) return answer.result;
      const { kind, message, detail } = answer.error;
      throw new A2AError(kind, message, detail);
    }
    if (performance.now() > until) {
      const message = 'The node that executes the task does not respond';
      throw new A2AError('unavailable', message, { retryAfterSeconds: 1 });
    }
    await pause(RETRY_MS, signal);
    await log.refresh(live);
    if (live.lost) throw live.lost;
  }
  return undefined;
}

/**
 * Returns how a request must be protected between the nodes. `required`: it contains the secrets of a webhook, so it
 * must be encrypted. `preferred`: it contains a message and data about the user, so it is encrypted if there is a key.
 * Undefined: it contains neither.
 */
function secrecyOf(request: OwnerRequest): 'preferred' | 'required' | undefined {
  if (request.kind !== 'send') return undefined;
  const webhook = request.params.configuration?.pushNotificationConfig;
  const secret = webhook?.token ?? webhook?.authentication?.credentials;
  return secret === undefined ? 'preferred' : 'required';
}
