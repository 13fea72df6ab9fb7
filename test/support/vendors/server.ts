/** A vendor on loopback: answers each request with the next reply, and remembers what it was asked. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';

export type Reply =
  /** Server-sent events; afterwards the stream ends, stays open, or breaks. */
  | { readonly events: readonly string[]; readonly after?: 'end' | 'hang' | 'break' }
  | { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> }
  /** Takes the request and says nothing at all. */
  | 'silence';

export interface Asked {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

export interface FakeVendor extends AsyncDisposable {
  readonly url: string;
  readonly asked: readonly Asked[];
  /** Settles when the first request is there. */
  readonly reached: Promise<void>;
  /** Settles when a client hangs up before its answer is complete. */
  readonly hungUp: Promise<void>;
}

/**
 * A function is asked for each reply. `models` are the vendor's models; without them it has no list. `route` answers
 * requests beside the chat; it is asked first, and undefined leaves the request to the rest.
 */
export async function fakeVendor(
  replies: readonly Reply[] | ((asked: Asked) => Reply | Promise<Reply>),
  {
    models = [],
    route,
    port = 0,
  }: {
    readonly models?: readonly string[];
    readonly route?: (method: string, path: string, body: unknown) => Reply | undefined;
    readonly port?: number;
  } = {},
): Promise<FakeVendor> {
  const asked: Asked[] = [];
  const reached = Promise.withResolvers<void>();
  const hungUp = Promise.withResolvers<void>();
  const left = typeof replies === 'function' ? [] : [...replies];
  const next =
    typeof replies === 'function'
      ? replies
      : () => left.shift() ?? { status: 500, body: 'the fake has no reply left' };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const body: unknown = text === '' ? undefined : JSON.parse(text);
      const other = route?.(request.method ?? '', request.url ?? '', body);
      if (other !== undefined) return send(other, response);
      if (request.method === 'GET') return send(modelsReply(request.url ?? '', models), response);
      const question = { path: request.url ?? '', headers: request.headers, body };
      asked.push(question);
      reached.resolve();
      void Promise.resolve(next(question)).then((reply) =>
        send(asWhole(reply, question), response),
      );
    });
    response.on('close', () => {
      if (!response.writableFinished) hungUp.resolve();
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert(typeof address === 'object' && address !== null);
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    reached: reached.promise,
    hungUp: hungUp.promise,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The list of models in every vendor's format, or one of them. */
function modelsReply(path: string, models: readonly string[]): Reply {
  const [, id] = /\/models\/([^?]+)/.exec(path) ?? [];
  if (models.length === 0 || (id !== undefined && !models.includes(id))) {
    return { status: 404, body: { error: { message: 'not found' } } };
  }
  const body = {
    data: models.map((each) => ({ id: each, object: 'model' })),
    models: models.map((each) => ({ name: `models/${each}` })),
  };
  return { status: 200, body: id === undefined ? body : { id } };
}

/** A request without `stream` gets the complete answer, in both of OpenAI's APIs. Others stay as they are. */
function asWhole(reply: Reply, { path, body: asked }: Asked): Reply {
  if (typeof reply !== 'object' || !('events' in reply) || reply.after === 'hang') return reply;
  if (typeof asked === 'object' && asked !== null && Reflect.get(asked, 'stream') === true)
    return reply;
  if (path.endsWith('/chat/completions')) return wholeChat(reply.events, reply.after);
  const last = reply.events.at(-1) ?? '';
  if (!last.startsWith('event: response.completed')) return reply;
  const body: unknown = JSON.parse(last.slice(last.indexOf('data: ') + 6)).response;
  return { status: 200, body };
}

/** The chunks of a chat as one answer. An answer that breaks off is not JSON. */
function wholeChat(events: readonly string[], after: 'end' | 'break' = 'end'): Reply {
  const message: Record<string, unknown> = { role: 'assistant', content: null, refusal: null };
  const calls: { function: { arguments: string } }[] = [];
  const whole: Record<string, unknown> = {};
  let finish_reason: unknown = null;
  for (const event of events) {
    const text = event.slice('data: '.length).trim();
    if (text === '[DONE]') continue;
    const { choices = [], ...head } = JSON.parse(text);
    if (head.error !== undefined) return { status: 500, body: head };
    Object.assign(whole, head);
    for (const { delta = {}, finish_reason: reason } of choices) {
      finish_reason = reason ?? finish_reason;
      for (const [field, value] of Object.entries(delta)) {
        if (typeof value === 'string' && field !== 'role')
          message[field] = `${typeof message[field] === 'string' ? message[field] : ''}${value}`;
      }
      for (const { index, ...call } of delta.tool_calls ?? []) {
        const there = calls[index];
        if (there) there.function.arguments += call.function.arguments;
        else calls[index] = { ...call, function: { arguments: '', ...call.function } };
      }
    }
  }
  const said = { ...message, ...(calls.length > 0 && { tool_calls: calls }) };
  const choices = [{ index: 0, message: said, finish_reason }];
  const body = { ...whole, object: 'chat.completion', choices };
  return { status: 200, body: after === 'break' ? JSON.stringify(body).slice(0, -20) : body };
}

function send(reply: Reply, response: ServerResponse): void {
  if (reply === 'silence') return;
  if ('status' in reply) {
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    response.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const { events, after = 'end' } = reply;
  response.write(events.join(''), () => {
    if (after === 'end') response.end();
    if (after === 'break') response.destroy();
  });
}

/** One event, as most vendors write it. */
export function data(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
