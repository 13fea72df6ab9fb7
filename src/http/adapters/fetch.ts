/**
 * The adapter for `Request` and `Response`. Used with Hono, Bun, Deno and edge runtimes, and in tests without a port.
 */
import { ByteCollector, trimEndOf } from '../../base/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { isLoopbackAddress } from '../admission.ts';
import type { App } from '../app.ts';
import type { Heartbeat } from './heartbeat.ts';
import { bodyText, tooLarge } from './request-body.ts';
import type { StreamReply, TextReply, TransportRequest } from '../request.ts';
import { restError } from '../rest.ts';

export interface FetchOptions {
  readonly maxBodyBytes: number;
  readonly publicUrl: string | undefined;
  /** Whether a request without a known remote address is treated as local. */
  readonly unknownIsLocal: boolean;
  readonly heartbeat: Heartbeat;
  readonly cors: (request: TransportRequest) => Record<string, string>;
}

/** Information about the connection that the caller of a fetch handler provides. */
export interface FetchContext {
  /** The path under which the handler is mounted. */
  readonly mount?: string;
  /**
   * The client's address, if the runtime provides it. An agent with neither `authenticate` nor `publicUrl` refuses
   * clients on other machines. If the client's address is missing, such an agent accepts only loopback host names,
   * because any web page could have sent the request.
   */
  readonly remote?: string;
}

/** Answers a `Request` with a `Response`. */
export type FetchHandler = (request: Request, context?: FetchContext) => Promise<Response>;

export function createFetchHandler(app: App, options: FetchOptions): FetchHandler {
  return async (web, context = {}) => {
    const mount = trimEndOf(context.mount ?? '', '/');
    const remote = context.remote ?? '';
    const address = new URL(web.url);
    const { pathname, search, origin, host } = address;
    const inside = pathname === mount || pathname.startsWith(`${mount}/`);
    const request: TransportRequest = {
      method: web.method,
      url: `${pathname.slice(mount.length) || '/'}${search}`,
      header: (name) => web.headers.get(name) ?? (name === 'host' ? host : undefined),
      base: options.publicUrl ?? `${origin}${mount}`,
      remote,
      local: remote === '' ? options.unknownIsLocal : isLoopbackAddress(remote),
      signal: web.signal,
    };
    const reply = inside
      ? await app(request, (_user, maxBytes = Infinity) =>
          readBody(web, Math.min(maxBytes, options.maxBodyBytes)),
        )
      : restError(new A2AError('methodNotFound', 'Nothing is served at this path'), '1.0', request);
    const cors = web.headers.has('origin') ? options.cors(request) : {};
    const headers = new Headers(reply.headers);
    for (const [name, value] of Object.entries(cors)) headers.append(name, value);
    if ('stream' in reply) {
      return new Response(streamBody(reply, options.heartbeat, web.signal), { headers });
    }
    if ('chunks' in reply) return new Response(textBody(reply, web.signal), { headers });
    const { status, body } = reply;
    // The bytes of the answer stop counting as pending now, because the runtime does not report when the client has
    // read them.
    reply.release?.();
    const empty = status === 204 || status === 304 || web.method === 'HEAD';
    return new Response(empty ? null : body, { status, headers });
  };
}

function textBody({ chunks, release }: TextReply, signal: AbortSignal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let over = false;
  const end = () => {
    if (over) return;
    over = true;
    signal.removeEventListener('abort', end);
    chunks.return?.().catch(() => undefined);
    release();
  };
  // When a client disconnects, some runtimes only abort the request and do not cancel the body.
  signal.addEventListener('abort', end);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const step = await chunks.next();
        if (step.done !== true) return controller.enqueue(encoder.encode(step.value));
        end();
        controller.close();
      } catch (error) {
        end();
        controller.error(error);
      }
    },
    cancel: end,
  });
}

function streamBody(
  reply: StreamReply,
  heartbeat: Heartbeat,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let close = () => {};
  let resume = () => {};
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const room = () => (controller.desiredSize ?? 0) > 0;
        const beating = {
          stalledAt: undefined as number | undefined,
          beat() {
            controller.enqueue(encoder.encode(': keep-alive\n\n'));
            if (!room()) beating.stalledAt ??= performance.now();
          },
          drop: () => {
            close();
            controller.error(new Error('the client stopped reading'));
          },
        };
        // When a client disconnects, some runtimes only abort the request and do not cancel the body.
        const leave = () => {
          close();
          controller.error(signal.reason);
        };
        const over = () => {
          signal.removeEventListener('abort', leave);
          heartbeat.remove(beating);
          reply.release();
        };
        heartbeat.add(beating);
        signal.addEventListener('abort', leave);
        const { stream } = reply;
        stream.pipe({
          take(item) {
            const text = reply.frame(item);
            if (text !== '') controller.enqueue(encoder.encode(text));
            if (!room()) beating.stalledAt ??= performance.now();
            return room();
          },
          fail: (error) => controller.enqueue(encoder.encode(reply.failure?.(error))),
          end(reason) {
            over();
            if (reason !== 'closed') controller.close();
          },
        });
        close = () => stream.close();
        resume = () => {
          beating.stalledAt = undefined;
          stream.resume();
        };
        if (signal.aborted) leave();
      },
      pull: () => resume(),
      cancel: () => close(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 64 * 1024 }),
  );
}

async function readBody(request: Request, limit: number): Promise<string> {
  if (!request.body) return '';
  const body = new ByteCollector();
  for await (const piece of request.body) {
    if (body.size + piece.length > limit) throw tooLarge(limit);
    body.add(piece);
  }
  return bodyText(body.bytes());
}
