/** The endpoints of the gateway that reach a model, each with the same request in its own format. */
import { isObject } from '../../src/base/index.ts';

export const IMAGE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk';
const SCHEMA = { type: 'object', properties: {} };

/** A request in terms that every endpoint knows. */
export interface AskedModel {
  readonly model: string;
  readonly text?: string;
  readonly maxTokens?: number;
  readonly image?: boolean;
  readonly tool?: boolean;
  readonly stream?: boolean;
}

export interface Endpoint {
  request(asked: AskedModel): { readonly path: string; readonly body: object };
  /** The texts of a streamed answer, piece by piece. */
  pieces(events: readonly Record<string, unknown>[]): unknown[];
  readonly tooLong: object;
  readonly unacceptable: object;
}

const TEXT = 'Weather?';
const messageOf = ({ text = TEXT, image = false }: AskedModel, type: 'kind' | 'type') => [
  { [type]: 'text', text },
  ...(image ? [{ [type]: 'file', file: { bytes: IMAGE, mimeType: 'image/png' } }] : []),
];
const openaiError = (code: string) => ({
  status: 400,
  body: { error: { type: 'invalid_request_error', code } },
});
export const field = (value: unknown, name: string): unknown =>
  isObject(value) ? value[name] : Array.isArray(value) ? value[Number(name)] : undefined;
export const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce(field, value);
const texts = (found: readonly unknown[]) => found.filter((each) => typeof each === 'string');

export const ENDPOINTS = {
  '/v1/chat/completions': {
    request({ model, text, maxTokens: max_tokens, image, tool, stream }) {
      const url = `data:image/png;base64,${IMAGE}`;
      const content = [
        { type: 'text', text: text ?? TEXT },
        ...(image ? [{ type: 'image_url', image_url: { url } }] : []),
      ];
      const tools = [{ type: 'function', function: { name: 'f', parameters: SCHEMA } }];
      const messages = [{ role: 'user', content }];
      const body = { model, messages, max_tokens, stream, ...(tool && { tools }) };
      return { path: '/v1/chat/completions', body };
    },
    pieces: (events) => texts(events.map((event) => at(event, 'choices', '0', 'delta', 'content'))),
    tooLong: openaiError('context_length_exceeded'),
    unacceptable: openaiError('content_type_not_supported'),
  },
  '/v1/responses': {
    request({ model, text, maxTokens: max_output_tokens, image, tool, stream }) {
      const content = [
        { type: 'input_text', text: text ?? TEXT },
        ...(image ? [{ type: 'input_image', image_url: `data:image/png;base64,${IMAGE}` }] : []),
      ];
      const tools = [{ type: 'function', name: 'f', parameters: SCHEMA }];
      const input = [{ role: 'user', content }];
      const body = { model, input, max_output_tokens, stream, ...(tool && { tools }) };
      return { path: '/v1/responses', body };
    },
    pieces: (events) =>
      events.flatMap(({ type, delta }) => (type === 'response.output_text.delta' ? [delta] : [])),
    tooLong: openaiError('context_length_exceeded'),
    unacceptable: openaiError('content_type_not_supported'),
  },
  '/v1/messages': {
    request({ model, text, maxTokens: max_tokens = 5000, image, tool, stream }) {
      const source = { type: 'base64', media_type: 'image/png', data: IMAGE };
      const content = [
        { type: 'text', text: text ?? TEXT },
        ...(image ? [{ type: 'image', source }] : []),
      ];
      const tools = [{ name: 'f', input_schema: SCHEMA }];
      const messages = [{ role: 'user', content }];
      const body = { model, messages, max_tokens, stream, ...(tool && { tools }) };
      return { path: '/v1/messages', body };
    },
    pieces: (events) => texts(events.map((event) => at(event, 'delta', 'text'))),
    tooLong: {
      status: 400,
      body: { error: { type: 'invalid_request_error', message: /^prompt is too long/ } },
    },
    unacceptable: { status: 400, body: { error: { type: 'invalid_request_error' } } },
  },
  '/v1beta': {
    request({ model, text, maxTokens: maxOutputTokens, image, tool, stream = false }) {
      const inlineData = { mimeType: 'image/png', data: IMAGE };
      const parts = [{ text: text ?? TEXT }, ...(image ? [{ inlineData }] : [])];
      const tools = [{ functionDeclarations: [{ name: 'f' }] }];
      const generationConfig = { maxOutputTokens };
      const contents = [{ role: 'user', parts }];
      const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
      const body = { contents, generationConfig, ...(tool && { tools }) };
      return { path: `/v1beta/models/${model}:${method}`, body };
    },
    pieces: (events) =>
      texts(events.map((event) => at(event, 'candidates', '0', 'content', 'parts', '0', 'text'))),
    tooLong: {
      status: 400,
      body: { error: { status: 'INVALID_ARGUMENT', message: /^The input token count exceeds/ } },
    },
    unacceptable: { status: 400, body: { error: { status: 'INVALID_ARGUMENT' } } },
  },
  'the dialect': {
    request(asked) {
      const { model, maxTokens: max_tokens, stream = false } = asked;
      const message = { role: 'user', content: messageOf(asked, 'type') };
      const body = { message, metadata: { model, ...(max_tokens && { max_tokens }) } };
      return { path: `/a2a/tasks/${stream ? 'sendSubscribe' : 'send'}`, body };
    },
    pieces: (events) => texts(events.map((event) => at(event, 'artifact', 'content'))),
    tooLong: { status: 400, body: { error: /at most 300 tokens/ } },
    unacceptable: { status: 400, body: { error: /^The model blind does not accept image\/png/ } },
  },
  A2A: {
    request(asked) {
      const { model, maxTokens: max_tokens, stream = false } = asked;
      const messageId = crypto.randomUUID();
      const message = { kind: 'message', messageId, role: 'user', parts: messageOf(asked, 'kind') };
      const params = { message, metadata: { model, ...(max_tokens && { max_tokens }) } };
      const method = stream ? 'message/stream' : 'message/send';
      return { path: '/', body: { jsonrpc: '2.0', id: 1, method, params } };
    },
    pieces: (events) =>
      texts(events.map((event) => at(event, 'result', 'artifact', 'parts', '0', 'text'))),
    tooLong: { status: 200, body: { error: { code: -32602, message: /at most 300 tokens/ } } },
    unacceptable: { status: 200, body: { error: { code: -32005 } } },
  },
} satisfies Readonly<Record<string, Endpoint>>;

/** The data of the server-sent events in a response. */
export async function eventsIn(answer: Response): Promise<Record<string, unknown>[]> {
  return (await answer.text()).split(/\r?\n/).flatMap((line) => {
    const [, data] = /^data: (\{.*\})$/.exec(line) ?? [];
    return data === undefined ? [] : [JSON.parse(data) as Record<string, unknown>];
  });
}
