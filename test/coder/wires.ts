/** Sends one message over each wire of a served coding agent. */
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import type { Message, Part } from '../../src/protocol/index.ts';

export interface Sent {
  /** The error's text, or undefined if the message was accepted. */
  readonly error: string | undefined;
  /** The JSON-RPC code, or the HTTP status where there is none. */
  readonly code: number | undefined;
  readonly body: string;
}

type Send = (url: string, message: Message) => Promise<Sent>;

async function post(url: string, body: object, version: '0.3' | '1.0'): Promise<Sent> {
  const header = version === '0.3' ? 'x-a2a-extensions' : 'a2a-extensions';
  const headers = {
    'content-type': 'application/json',
    'a2a-version': version,
    [header]: EXTENSION_URI,
  };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (response.headers.get('content-type')?.startsWith('text/event-stream') === true) {
    return { error: undefined, code: undefined, body: text };
  }
  type Problem = { code?: number; message: string };
  const reply = JSON.parse(text) as Partial<Problem> & { error?: string | Problem };
  // The REST binding of 0.3 has no envelope around the error.
  const error = reply.error ?? (reply.message !== undefined ? (reply as Problem) : undefined);
  if (error === undefined && response.ok) return { error: undefined, code: undefined, body: text };
  if (typeof error === 'object') {
    return { error: error.message, code: error.code ?? response.status, body: text };
  }
  return { error: error ?? text, code: response.status, body: text };
}

function toVersion1(message: Message): object {
  const { kind: _, ...fields } = message;
  const contentOf = ({ kind: __, ...content }: Part): object => content;
  return { ...fields, role: 'ROLE_USER', parts: message.parts.map((part) => contentOf(part)) };
}

/** The REST binding of 0.3 has its own format of messages. */
function toRest03(message: Message): object {
  const { kind: _, parts, ...fields } = message;
  const contentOf = (part: Part): object => {
    if (part.kind === 'text') return { text: part.text };
    return part.kind === 'data' ? { data: { data: part.data } } : part;
  };
  return { ...fields, role: 'ROLE_USER', content: parts.map((part) => contentOf(part)) };
}

const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });

/** Every way to send an A2A message by HTTP. */
export const WIRES: Readonly<Record<string, Send>> = {
  'JSON-RPC 0.3': (url, message) => post(url, rpc('message/send', { message }), '0.3'),
  'JSON-RPC 1.0': (url, message) =>
    post(url, rpc('SendMessage', { message: toVersion1(message) }), '1.0'),
  'REST 0.3': (url, message) =>
    post(`${url}/v1/message:send`, { message: toRest03(message) }, '0.3'),
  'REST 1.0': (url, message) =>
    post(`${url}/message:send`, { message: toVersion1(message) }, '1.0'),
};
