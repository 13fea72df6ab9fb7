/**
 * Receives push notifications. Verifies them, drops repeated ones, and passes the others to `onEvent`.
 *
 *   const receiver = webhookReceiver({
 *     jwks: 'https://agent.example/.well-known/jwks.json',
 *     token,
 *     onEvent: ({ event }) => save(event),
 *     onError: console.error,
 *   });
 *   app.post('/hook', receiver.node);                          // Express, or node:http
 *   Deno.serve(receiver.fetch);                                // a server with fetch handlers
 *
 * A server sends the events of a webhook in order. It repeats an event until it gets a 2xx answer or gives up, so an
 * event may arrive more than once. The receiver handles order and repetition as follows:
 *
 * - Parley's servers send ids of the form `TASK.CONFIG.SEQ`: the event's task, the push configuration and the event's
 *   number. Notifications of one server with the same TASK.CONFIG are passed on one at a time. Notifications with other
 *   ids have no order.
 * - A notification is dropped if `onEvent` has already accepted a notification of the same server with the same id and
 *   content.
 * - If notifications must be signed, a server cannot suppress or reorder the notifications of another server. Without
 *   signatures, the receiver cannot tell servers apart.
 * - The receiver remembers the last ids in memory. After a restart, or with several receivers, a notification may be
 *   passed on again. To recognize it, store the id of each notification with its content.
 *
 * Every user of an agent can make the agent's server send signed notifications to any address. To accept only the
 * notifications of your own configurations, also set a `token`.
 */
import { BoundedMap, Turns } from '../base/index.ts';
import { A2AError, type ProtocolVersion, type StreamEvent } from '../protocol/index.ts';
import { ConnectionError } from './connection/errors.ts';
import {
  checkCredentials,
  digestOf,
  incoming,
  MAX_NOTIFICATION_BYTES,
  openNotification,
  type IncomingNotification,
  type NotificationOptions,
  type OpenedNotification,
} from './webhook.ts';
import { KeysUnavailableError, webhookVerifier, type WebhookTrust } from './webhook-signature.ts';

/** A push notification that was verified. */
export interface Notification {
  /** The task in 0.3, any event in 1.0. */
  readonly event: StreamEvent;
  readonly version: ProtocolVersion;
  /**
   * The id of the notification, which is the same in all attempts to deliver it. Undefined if the server sends no id.
   */
  readonly id: string | undefined;
  /** The event's sequence number in the task's log. Undefined if the id does not contain a sequence number. */
  readonly seq: number | undefined;
  /**
   * Whether a later event of this webhook was passed on before this one. This happens if the server gave up the
   * delivery of an event, and the delivery was started again later.
   */
  readonly late: boolean;
}

/** The options of `webhookReceiver`. At least one of `jwks`, `keys`, `token` and `authorization` is required. */
export interface WebhookReceiverOptions extends NotificationOptions, WebhookTrust {
  /**
   * Called for each notification. If it throws, the server usually sends the notification again. If it returns `gone`,
   * the server ends the webhook. It should return within seconds, because Parley's servers stop waiting after 15
   * seconds by default.
   */
  readonly onEvent: (notification: Notification) => 'gone' | void | Promise<'gone' | void>;
  /**
   * Called with errors of `onEvent`, and with errors of the receiver, for example if the keys cannot be fetched. These
   * errors are not sent to the sender. Not called for requests that are invalid or incomplete. Must not throw.
   */
  readonly onError: (error: unknown) => void;
  /** Maximum number of requests that are handled at the same time. Further requests get 503. Default: 100. */
  readonly maxPending?: number | undefined;
}

/** A handler of push notifications, for a server of your own. */
export interface WebhookReceiver {
  /** The handler for servers that use functions from `Request` to `Response`. */
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * The handler for node:http and Express. It must come before `express.json()`, because it needs the original body.
   */
  readonly node: (request: NodeWebhookRequest, response: NodeWebhookResponse) => void;
}

/** The part of node's IncomingMessage that the receiver uses. */
export interface NodeWebhookRequest extends AsyncIterable<unknown> {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body, if a body parser has already read it. Text and bytes are used, but an object cannot be verified. */
  readonly body?: unknown;
}

/** The part of node's ServerResponse that the receiver uses. */
export interface NodeWebhookResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(text?: string): unknown;
}

const MAX_PENDING = 100;
/** Maximum total size of the bodies of all requests that are being handled, in bytes. */
const MAX_PENDING_BYTES = 2 ** 27;
/**
 * Maximum number of requests of one webhook that are being handled or wait for their turn. Further requests get 503, so
 * that one webhook with slow handling does not block other webhooks.
 */
const MAX_PENDING_PER_WEBHOOK = 4;
/**
 * Maximum number of notifications whose ids are remembered, and of webhooks whose latest sequence number is remembered.
 */
const REMEMBERED = 10_000;

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The error message for the sender. */
  readonly text?: string;
}

/** A notification that `onEvent` has accepted. */
interface Handled {
  readonly digest: string;
  /** The HTTP status of the response to the notification. */
  readonly status: number;
}

const BUSY: Answer = { status: 503, headers: { 'retry-after': '5' } };

/** Makes a receiver of push notifications. */
export function webhookReceiver(options: WebhookReceiverOptions): WebhookReceiver {
  const { onEvent, onError, maxPending = MAX_PENDING, maxBytes = MAX_NOTIFICATION_BYTES } = options;
  checkCredentials(options);
  const verifier = webhookVerifier(options);
  if (!verifier && options.token === undefined && options.authorization === undefined) {
    throw new TypeError(
      'webhookReceiver needs `jwks`, `keys`, `token` or `authorization`: without them anybody could send notifications',
    );
  }
  /** The notifications that `onEvent` has accepted, by sender and id. */
  const handled = new BoundedMap<Handled>(REMEMBERED);
  /** The latest sequence number that `onEvent` has accepted, by webhook. */
  const latest = new BoundedMap<number>(REMEMBERED);
  const turns = new Turns();
  let pending = 0;
  let bytes = 0;

  async function receive(request: IncomingNotification): Promise<Answer> {
    if (request.method !== 'POST') return { status: 405, headers: { allow: 'POST' } };
    const size = sizeOf(request);
    if (size > maxBytes) return { status: 413 };
    if (pending >= maxPending || bytes + size > MAX_PENDING_BYTES) return BUSY;
    pending++;
    bytes += size;
    try {
      const opened = await openNotification(request, options, verifier);
      const place = placeOf(opened);
      return await inTurn(place?.webhook, () => handOver(opened, place));
    } catch (error) {
      return refusal(error);
    } finally {
      pending--;
      bytes -= size;
    }
  }

  /**
   * Returns the size of the body from the Content-Length header, or the maximum size if this header is missing or
   * invalid.
   */
  function sizeOf(request: IncomingNotification): number {
    const length = request.header('content-length') ?? '';
    return /^\d{1,15}$/.test(length) ? Number(length) : maxBytes;
  }

  function refusal(error: unknown): Answer {
    if (error instanceof A2AError && error.kind === 'unauthenticated') {
      return { status: 401, text: error.message };
    }
    if (error instanceof A2AError) return { status: 400, text: error.message };
    // The sender has disconnected, or has sent the body too slowly.
    if (error instanceof ConnectionError) return { status: 408 };
    onError(error);
    if (error instanceof KeysUnavailableError) return BUSY;
    return { status: 500 };
  }

  async function handOver(
    { event, version, id, sender, text }: OpenedNotification,
    place: Place | undefined,
  ): Promise<Answer> {
    const name = JSON.stringify([sender, id]);
    const digest = id === undefined ? '' : String(await digestOf(text));
    const earlier = id === undefined ? undefined : handled.get(name);
    // The server repeats the notification because it did not get the first answer. Send the same answer again.
    if (earlier?.digest === digest) return { status: earlier.status };
    const newest = place && latest.get(place.webhook);
    const late = place !== undefined && newest !== undefined && place.seq < newest;
    let outcome: Awaited<ReturnType<typeof onEvent>>;
    try {
      outcome = await onEvent({ event, version, id, seq: place?.seq, late });
    } catch (error) {
      // An A2AError of `onEvent`, for example from a call to an agent, must not look like an invalid request.
      onError(error);
      return { status: 500 };
    }
    const status = outcome === 'gone' ? 410 : 204;
    if (id !== undefined) handled.set(name, { digest, status });
    if (place && !late) latest.set(place.webhook, place.seq);
    return { status };
  }

  /** Runs the work after all earlier work for the same webhook. Answers BUSY if too much work is waiting. */
  async function inTurn(webhook: string | undefined, work: () => Promise<Answer>): Promise<Answer> {
    if (webhook === undefined) return work();
    if (turns.length(webhook) >= MAX_PENDING_PER_WEBHOOK) return BUSY;
    return turns.run(webhook, work);
  }

  return {
    async fetch(request) {
      const { status, headers = {}, text = null } = await receive(incoming(request));
      return new Response(text, { status, headers });
    },
    node(request, response) {
      void receive(fromNode(request)).then(({ status, headers = {}, text }) => {
        response.statusCode = status;
        for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
        response.end(text);
      });
    },
  };
}

interface Place {
  /** The sender and the ids of the task and of the configuration. */
  readonly webhook: string;
  readonly seq: number;
}

/**
 * Reads an id of the form `TASK.CONFIG.SEQ`, where TASK must be the event's task. Returns undefined for any other id.
 * Servers of other vendors may use other ids. Such ids have no order.
 */
function placeOf({ id = '', event, sender }: OpenedNotification): Place | undefined {
  const taskId = event.kind === 'task' ? event.id : event.taskId;
  if (taskId === undefined || !id.startsWith(`${taskId}.`)) return undefined;
  const [, config, seq] = /^(.+)\.(\d{1,15})$/s.exec(id.slice(taskId.length + 1)) ?? [];
  if (config === undefined) return undefined;
  return { webhook: JSON.stringify([sender, taskId, config]), seq: Number(seq) };
}

function fromNode(request: NodeWebhookRequest): IncomingNotification {
  return {
    method: request.method ?? '',
    header(name) {
      const value = request.headers[name];
      return typeof value === 'string' ? value : value?.join(', ');
    },
    body() {
      const { body } = request;
      if (typeof body === 'string' || body instanceof Uint8Array) {
        return new Response(typeof body === 'string' ? body : new Uint8Array(body));
      }
      if (body !== undefined && body !== null) {
        throw new TypeError(
          'webhookReceiver needs the original body of the request: mount it before express.json()',
        );
      }
      return { body: streamOf(request), url: '' };
    },
  };
}

function streamOf(request: AsyncIterable<unknown>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunks = request[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done === true) controller.close();
      else if (value instanceof Uint8Array) controller.enqueue(new Uint8Array(value));
      else controller.enqueue(new TextEncoder().encode(String(value)));
    },
    async cancel() {
      await chunks.return?.();
    },
  });
}
