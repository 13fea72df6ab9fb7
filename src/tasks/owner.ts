/**
 * Requests to the node that executes a task. That node handles them as if they had come from its own clients. The node
 * that sent a request then reads the new events from the task's log.
 */
import { pause } from '../base/index.ts';
import { validTraceparent } from '../base/tracing/index.ts';
import {
  A2AError,
  type Call,
  type ErrorDetail,
  type ErrorKind,
  type MessageSendParams,
  type User,
} from '../protocol/index.ts';
import type { EventLog } from './log/event-log.ts';
import type { LiveTask } from './log/live-task.ts';
import type { TaskKey } from './store/store.ts';

/**
 * Converts users for requests to another node. Without a codec, a user is sent as JSON. The other node then gets an
 * object without the methods of its class.
 */
export interface UserCodec {
  /** Returns the user in a form that JSON can express. It has the user's `id` and `tenant`. */
  pack(user: User): User;
  /** Returns the user that another node has packed. Throws an A2AError if this is not possible. */
  unpack(packed: User): User;
}

/** The part of a call that is sent to another node. */
type SentCall = Pick<Call, 'user' | 'extensions' | 'version' | 'base' | 'traceparent'>;

/** How a task is stopped. */
export type StopKind = 'cancel' | 'expire';

/** A request to the node that executes a task. */
export type OwnerRequest =
  | { readonly kind: StopKind; readonly task: TaskKey }
  | {
      readonly kind: 'send';
      readonly params: MessageSendParams;
      readonly call: SentCall;
    };

/**
 * The result of an `OwnerRequest`. `after` is the cursor after which the node that sent the request reads the task's
 * log.
 */
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

/** Returns the part of the call that the other node needs, with the user packed. */
export function packCall(call: Call, users: UserCodec | undefined): SentCall {
  const { extensions, version, base } = call;
  const user = call.user && users ? users.pack(call.user) : call.user;
  return { user, extensions, version, base, traceparent: validTraceparent(call.traceparent) };
}

/** Returns the call that another node has packed. */
export function unpackCall(sent: SentCall, users: UserCodec | undefined): Call {
  return sent.user && users ? { ...sent, user: users.unpack(sent.user) } : sent;
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
