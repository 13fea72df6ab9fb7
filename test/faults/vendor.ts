/**
 * The provider of the gateway's model, in OpenAI's chat format. It charges for every token that it sends, also to a
 * gateway that is killed meanwhile, and writes down every call.
 *
 * A prompt is `call ID TOKENS MS`: the answer has so many tokens, or `max_tokens` if that is less, and takes so long.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { isObject } from '../../src/base/index.ts';
import type { VendorCall } from './budget-checker.ts';

/** The tokens that a prompt costs. The gateway's own estimate is higher. */
const PROMPT_TOKENS = 10;
const CHUNKS = 5;

export async function startVendor(calls: VendorCall[]) {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const [, node = ''] = (request.url ?? '').split('/');
      void answer(node, JSON.parse(Buffer.concat(chunks).toString()), response);
    });
  });

  async function answer(node: string, body: unknown, response: ServerResponse): Promise<void> {
    if (!isObject(body)) return;
    const [, id = '', wanted = '1', ms = '0'] =
      /call (\S+) (\d+) (\d+)/.exec(JSON.stringify(body['messages'])) ?? [];
    const limit = Number(body['max_tokens'] ?? body['max_completion_tokens'] ?? Infinity);
    const tokens = Math.min(Number(wanted), limit);
    const call: VendorCall = {
      id,
      node,
      limit,
      charged: PROMPT_TOKENS,
      from: performance.now(),
      to: Infinity,
    };
    calls.push(call);
    response.once('close', () => (call.to = performance.now()));
    const head = { id: 'c', created: 1, model: body['model'] };
    const isStream = body['stream'] === true;
    const event = (choices: object[], more = {}) =>
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
    if (isStream) response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let at = 0, sent = 0; at < CHUNKS && !response.destroyed; at++) {
      await setTimeout(Number(ms) / CHUNKS);
      const more = Math.round((tokens * (at + 1)) / CHUNKS) - sent;
      sent += more;
      call.charged += more;
      const delta = { content: 'word '.repeat(more) };
      if (isStream && more > 0) response.write(event([{ index: 0, delta, finish_reason: null }]));
    }
    const usage = {
      prompt_tokens: PROMPT_TOKENS,
      completion_tokens: tokens,
      total_tokens: PROMPT_TOKENS + tokens,
    };
    const finish_reason = tokens < Number(wanted) ? 'length' : 'stop';
    if (isStream) {
      const end = event([{ index: 0, delta: {}, finish_reason }]);
      response.end(`${end}${event([], { usage })}data: [DONE]\n\n`);
      return;
    }
    const message = { role: 'assistant', content: 'word '.repeat(tokens) };
    const choices = [{ index: 0, message, finish_reason }];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }));
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
