// A vendor of models that streams an answer with Anthropic's API (/v1/messages) or OpenAI's (/v1/responses). The prompt
// says how many events the answer has, how long the text of each is, and how many milliseconds are between them:
// `task EVENTS LENGTH MS`.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

type Fields = Readonly<Record<string, unknown>>;

function event(type: string, fields: Fields): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

const USAGE = { input_tokens: 20, output_tokens: 12 };

function messages(texts: readonly string[]): string[] {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'bench', content: [] };
  const stop = { stop_reason: 'end_turn', stop_sequence: null };
  return [
    event('message_start', { message: { ...message, stop_reason: null, usage: USAGE } }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ...texts.map((text) =>
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    ),
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: stop, usage: USAGE }),
    event('message_stop', {}),
  ];
}

function responses(texts: readonly string[]): string[] {
  const response = { id: 'resp_1', object: 'response', created_at: 1_780_000_000, model: 'bench' };
  const item = { id: 'msg_1', type: 'message', role: 'assistant' };
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const part = { type: 'output_text', text: texts.join(''), annotations: [] };
  const done = { ...item, status: 'completed', content: [part] };
  const begun = { ...item, status: 'in_progress', content: [] };
  const ended = { ...response, status: 'completed', output: [done], usage: USAGE };
  const all: [string, Fields][] = [
    ['response.created', { response: { ...response, status: 'in_progress', output: [] } }],
    ['response.output_item.added', { output_index: 0, item: begun }],
    ['response.content_part.added', { ...at, part: { ...part, text: '' } }],
    ...texts.map((delta): [string, Fields] => ['response.output_text.delta', { ...at, delta }]),
    ['response.output_text.done', { ...at, text: part.text }],
    ['response.content_part.done', { ...at, part }],
    ['response.output_item.done', { output_index: 0, item: done }],
    ['response.completed', { response: ended }],
  ];
  return all.map(([type, fields], n) => event(type, { sequence_number: n, ...fields }));
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += String(chunk);
  const [, count, length, ms] = /task (\d+) (\d+) (\d+)/.exec(body) ?? [];
  const texts = Array.from({ length: Number(count) }, () => 'x'.repeat(Number(length)));
  const write = request.url?.startsWith('/v1/responses') ? responses : messages;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const each of write(texts)) {
    response.write(each);
    await delay(Number(ms));
  }
  response.end();
}

const server = createServer((request, response) => void answer(request, response));
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify(server.address())));
