/** A client of the flat API. */
import assert from 'node:assert/strict';

export interface FlatReply {
  readonly status: number;
  readonly body: unknown;
}

export interface Flat {
  readonly kind: string;
  readonly taskId: string;
  readonly contextId: string;
  readonly state?: string;
  readonly status?: string;
  readonly toolCallId?: string;
  readonly [field: string]: unknown;
}

type Headers = Readonly<Record<string, string>>;

export async function get(url: string, headers: Headers = {}): Promise<FlatReply> {
  return replyOf(await fetch(url, { headers }));
}

export async function post(url: string, body: unknown, headers: Headers = {}): Promise<FlatReply> {
  return replyOf(await send(url, body, headers));
}

/** The id of a new task. */
export async function newTask(url: string, body: object = {}): Promise<string> {
  const made = await post(`${url}/tasks`, body);
  assert.equal(made.status, 201);
  assert.ok(typeof made.body === 'string');
  return made.body;
}

/** The events of POST /message/stream, to the end of the stream. */
export async function say(url: string, body: object, headers: Headers = {}): Promise<Flat[]> {
  const response = await send(`${url}/message/stream`, body, headers);
  const text = await response.text();
  assert.equal(response.headers.get('content-type'), 'text/event-stream', text);
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!) as Flat);
}

/** `state-change working`, `tool-call-update PENDING`, `thought`. */
export function flatOutline({ kind, state, status }: Flat): string {
  return [kind, state ?? status ?? ''].join(' ').trim();
}

function send(url: string, body: unknown, headers: Headers): Promise<Response> {
  const text = JSON.stringify(body);
  const type = { 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers: { ...type, ...headers }, body: text });
}

async function replyOf(response: Response): Promise<FlatReply> {
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}
